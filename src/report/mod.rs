//! Results for people: pictures, tables and pages. Nothing here computes a result, and nothing is known but results.

pub mod coverage;
pub mod estimation;
pub mod html;
pub mod overview;
pub mod own_data;
pub mod plot;
pub mod png;
pub mod table;
pub mod verdict;
