//! Scans, PDF pages and images: decoded within bounds, converted, scaled.
