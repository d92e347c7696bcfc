//! What passes for a link, and what does not.

use super::*;

#[test]
fn links_belong_to_their_root_and_number() {
    let (ours, theirs) = (SealChain::new(&[1; 32]), SealChain::new(&[2; 32]));
    let root = ours.root();
    for n in [0, 1, 7, 1023] {
        assert_eq!(number(root, ours.link(n).unwrap()), Some(n));
        assert_eq!(number(root, theirs.link(n).unwrap()), None);
    }
    assert_eq!(ours.link(1024), None);
    assert_eq!(ours.link(u64::MAX), None);
    assert_eq!(number(root, root), None, "the root is known to all");
    assert_eq!(number(root, &hash::hex(root.as_bytes())), None);
    assert_eq!((number(root, ""), number("", "")), (None, None));
}

#[test]
fn a_link_tells_the_earlier_ones_and_no_later_one() {
    let seals = SealChain::new(&[1; 32]);
    let [first, second] = [0, 1].map(|n| seals.link(n).unwrap());
    assert_eq!(hash::hex(second.as_bytes()), first);
    assert_ne!(hash::hex(first.as_bytes()), second);
}
