//! Versioned manifests of blobs with true content ids.
