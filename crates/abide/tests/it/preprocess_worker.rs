//! Workers as a container has them: little is installed.

use serde_json::{Value, json};

use crate::outside::Outside;
use crate::place::Place;
use crate::scans::{SERVE, follow, is_jpeg, place_of_a_server, send, stage, tiff, write};
use crate::served::Served;

/// What speaks http, and to this machine, needs no certificates.
#[test]
fn a_system_without_certificates_converts_and_delivers() {
    let without = |place: Place| place.env("SSL_CERT_FILE", "/nowhere").env("SSL_CERT_DIR", "/nowhere");
    let place = without(Place::new());
    write(&place.path("work/scans/a.tif"), &tiff(32, 24, 1));
    let run = place.run("preprocess scans --out web --preset fast");
    assert_eq!(run.code, Some(0), "{run}");
    assert!(is_jpeg(&place.path("work/web/a.jpg")));

    let receiver = Outside::start(|_, _| (200, None, Value::Null));
    let place = without(place_of_a_server()).env("WORKER_URL", &receiver.url());
    let served = Served::start(&place, SERVE);
    send(&served, &stage(&place, "bare", 1));
    let status = follow(&served, "bare", |status| status["delivery"] == json!("delivered"));
    assert_eq!(status["inputs"]["converted"], json!(1), "{status}");
    let listed = place.run("job list --queue preprocess --data-dir data");
    assert_eq!(listed.code, Some(0), "{listed}");
}
