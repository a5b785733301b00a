//! Where traces and metrics go.

section! {
    /// Where traces and metrics go.
    telemetry: Telemetry {
        /// Base URL of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318; empty for none.
        otlp_endpoint: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// Headers for the collector, such as api-key=abc,tenant=7.
        otlp_headers: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            secret: true,
        }
        /// What this process is called there.
        service_name: String = {
            kind: Kind::Text,
            default: DefaultValue::Text("abide"),
        }
    }
}
