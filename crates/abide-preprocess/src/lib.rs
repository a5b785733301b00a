//! Scans in, web images and page files out, on parallel workers.
