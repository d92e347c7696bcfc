//! What tests, fuzz targets and measurements share. Development only: nothing ships from here.

pub mod checks;
