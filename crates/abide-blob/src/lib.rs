//! Where bytes live: buckets in a directory or on S3.
