//! What runs workers of preprocessing.

section! {
    /// What runs workers of preprocessing.
    launcher: Launcher {
        /// Processes of this machine (local) or machines of Fly (fly).
        kind: &'static str = {
            kind: Kind::Choice(&["local", "fly"]),
            default: DefaultValue::Text("local"),
        }
        /// Processes at the same time; as many as this machine has cores by default.
        in_flight: usize = {
            kind: Kind::Integer { min: 1, max: 10_000 },
            default: DefaultValue::Cores,
        }
        /// Whether workers get URLs for their blobs (presigned) or the credentials of the buckets (bucket).
        credentials: &'static str = {
            kind: Kind::Choice(&["presigned", "bucket"]),
            default: DefaultValue::Text("presigned"),
        }
        /// How JPEGs are made: as small as possible (default), or many times faster (fast).
        preset: &'static str = {
            kind: Kind::Choice(&["default", "fast"]),
            default: DefaultValue::Text("default"),
        }
        /// Program that is started as a worker, with tiff, pdf or image as its argument; empty for abide itself.
        command: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// Machines of Fly at the same time.
        fly_in_flight: usize = {
            kind: Kind::Integer { min: 1, max: 10_000 },
            default: DefaultValue::Integer(100),
        }
        /// Machines of Fly that are started at most, until the limit launch:* is set.
        spawn_rate: String = {
            kind: Kind::Text,
            default: DefaultValue::Text("100/10s"),
        }
        /// How often a machine of Fly is asked about.
        poll_ms: u64 = {
            kind: Kind::Integer { min: 100, max: 600_000 },
            default: DefaultValue::Integer(5_000),
        }
        /// URL of Fly's API for machines.
        fly_api_url: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// Token for it.
        fly_api_token: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["FLY_API_TOKEN"],
            secret: true,
        }
        /// Region in which machines run.
        fly_region: String = {
            kind: Kind::Text,
            default: DefaultValue::Text("ord"),
            aliases: &["FLY_REGION"],
        }
        /// App of Fly whose machines are tiff workers.
        fly_tiff_app: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["FLY_TIFF_APP_NAME", "FLY_APP_NAME"],
        }
        /// Container image of tiff workers.
        fly_tiff_image: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["FLY_TIFF_WORKER_IMAGE", "FLY_WORKER_IMAGE"],
        }
        /// App of Fly whose machines are pdf workers.
        fly_pdf_app: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["FLY_PDF_APP_NAME"],
        }
        /// Container image of pdf workers.
        fly_pdf_image: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["FLY_PDF_WORKER_IMAGE"],
        }
        /// App of Fly whose machines are image workers.
        fly_image_app: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["FLY_IMAGE_APP_NAME"],
        }
        /// Container image of image workers.
        fly_image_image: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["FLY_IMAGE_WORKER_IMAGE"],
        }
    }
}
