//! What a worker finds in its environment: the contract with every worker, ours or not.

use crate::buckets::{Lent, Which};
use crate::holder::Holder;
use crate::jobs::{self, Order};
use crate::phases::{pdf, tiff};
use crate::service::{Credentials, Service, Telling};
use crate::site::Site;
use abide_blob::{BlobError, Key};
use std::collections::BTreeMap;
use std::time::Duration;

/// How much longer than its task a worker's URLs are good: the time that it waits to be started and calls back.
const SLACK: Duration = Duration::from_secs(20 * 60);

/// How long the attempt may take: for whoever finds its machine later.
pub(super) const TIMEOUT_MS: &str = "TIMEOUT_MS";

/// The variables of a worker.
pub(super) type Environment = BTreeMap<&'static str, String>;

/// The environment for one attempt.
pub(super) async fn of(
    service: &Service,
    site: &Site,
    telling: &Telling,
    order: &Order,
) -> Result<Environment, BlobError> {
    let (batch, task) = (&order.batch_id, &order.attempt.task_id);
    let input = &order.input;
    let mut set = Environment::from([
        ("TASK_ID", task.clone()),
        ("BATCH_ID", batch.to_string()),
        ("INPUT_R2_KEY", input.r2_key.clone()),
        ("R2_BUCKET", telling.staging_name.clone()),
        ("CALLBACK_URL", signed_url(service, site, order, "callback")),
    ]);
    if order.tag != "tiff" {
        set.insert("INPUT_FILE_NAME", input.file_name.clone());
        set.insert("INPUT_CONTENT_TYPE", input.content_type.clone());
        set.insert("INPUT_FILE_SIZE", input.file_size.to_string());
        set.insert("ARCHIVE_BUCKET", telling.archive_name.clone());
        set.extend(input.cid.clone().map(|cid| ("INPUT_CID", cid)));
        for (name, url) in
            [("CDN_API_URL", &telling.cdn_api_url), ("CDN_PUBLIC_URL", &telling.cdn_public_url)]
        {
            if !url.is_empty() {
                set.insert(name, url.clone());
            }
        }
    }
    let stem = tiff::stem(&input.r2_key)
        .map(|stem| format!("{stem}.jpg"))
        .or_else(|| pdf::stem(&input.r2_key).map(str::to_owned));
    if input.output_r2_key.is_some() && input.output_r2_key != stem {
        set.extend(input.output_r2_key.clone().map(|key| ("OUTPUT_R2_KEY", key)));
    }
    if order.tag == "pdf" {
        set.extend(telling.pdf_dpi.map(|dpi| ("PDF_DPI", dpi.to_string())));
    }
    if !telling.preset.is_empty() {
        set.insert("JPEG_PRESET", telling.preset.clone());
    }
    match telling.credentials {
        Credentials::Bucket => {
            let [account, id, key] = telling.r2.clone();
            set.insert("R2_ACCOUNT_ID", account);
            set.insert("R2_ACCESS_KEY_ID", id);
            set.insert("R2_SECRET_ACCESS_KEY", key);
            if !telling.r2_endpoint.is_empty() {
                set.insert("R2_ENDPOINT", telling.r2_endpoint.clone());
            }
        }
        Credentials::Presigned => lend(service, site, order, &mut set).await?,
    }
    Ok(set)
}

/// URLs in place of credentials.
async fn lend(service: &Service, site: &Site, order: &Order, set: &mut Environment) -> Result<(), BlobError> {
    let (buckets, now) = (service.buckets(), site.engine.now());
    let good_for = lent_for(order.timeout_ms);
    let url = async |key: &str, lent: Lent<'_>| {
        buckets.lend(&site.url, (Which::Staging, &Key::new(key)?), lent, now, good_for).await
    };
    let holder = Holder { batch: order.batch_id.to_string(), attempt: order.attempt.clone() };
    set.insert("INPUT_URL", url(&order.input.r2_key, Lent::ToRead).await?);
    if let Some(output) = order.input.output_r2_key.as_deref().filter(|_| order.tag == "tiff") {
        set.insert("OUTPUT_URL", url(output, Lent::ToPutBy(&holder)).await?);
    }
    set.insert("UPLOADS_URL", signed_url(service, site, order, "uploads"));
    set.insert("ASSET_ID", order.asset_id.clone());
    set.insert("MEMORY_MB", order.memory_mb.to_string());
    set.insert(TIMEOUT_MS, order.timeout_ms.to_string());
    Ok(())
}

/// How long URLs are good for a task of such a length.
fn lent_for(timeout_ms: i64) -> Duration {
    Duration::from_millis(timeout_ms.unsigned_abs()) + SLACK
}

/// A URL of our routes that proves which attempt uses it.
fn signed_url(service: &Service, site: &Site, order: &Order, route: &str) -> String {
    let batch = order.batch_id.as_str();
    let signature = jobs::sign(&service.buckets().signer, batch, &order.attempt);
    let (life, attempt) = (order.attempt.life.0, order.attempt.attempt);
    let task = &order.attempt.task_id;
    format!("{}/{route}/{batch}/{task}?life={life}&attempt={attempt}&signature={signature}", site.url)
}
