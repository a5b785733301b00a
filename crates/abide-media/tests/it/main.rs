//! Scans, documents and images made here, converted, and looked at.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod corpus;
mod fuzzer;
mod hostile;
mod images;
mod jpegs;
mod mutations;
mod pdf_damage;
mod pdf_scans;
mod pdf_writer;
mod pdfs;
mod picture;
mod tiff_writer;
mod tiffs;
