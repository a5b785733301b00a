//! Everything that is counted and measured, as families of values.

mod family;
mod of_downloads;
mod of_engine;
mod of_http;
mod of_preprocess;
mod of_process;
mod of_store;
mod of_sync;

pub(crate) use family::render;
pub use family::{Family, Sample, Sort, Value};
pub(crate) use of_http::{HttpMeter, UNKNOWN, known};

use crate::app::App;
use crate::error::ApiError;
use abide_engine::Engine;

/// What the engine counted and the store holds.
///
/// # Errors
///
/// If the store cannot be read: then what the engine counted, alone.
pub async fn families(engine: &Engine) -> Result<Vec<Family>, Vec<Family>> {
    let mut families = of_engine::families(&engine.counts());
    match of_store::families(engine).await {
        Ok(held) => {
            families.extend(held);
            Ok(families)
        }
        Err(_) => Err(families),
    }
}

/// All that the server knows.
pub(crate) async fn all(app: &App) -> Result<Vec<Family>, ApiError> {
    let mut all = of_engine::families(&app.engine().counts());
    all.extend(of_store::families(app.engine()).await?);
    all.extend(app.http().families());
    if let Some(meter) = &app.services().downloads {
        all.extend(of_downloads::families(&meter.counts()));
    }
    if let Some(service) = &app.services().preprocess {
        all.extend(of_preprocess::families(&service.metrics().numbers()));
    }
    if app.services().sync.is_some() {
        all.extend(of_sync::families(app));
    }
    if let Some(beside) = &app.services().watch.beside {
        all.extend(beside.families());
    }
    all.extend(of_process::families(app.services().watch.store_dir.as_deref()));
    Ok(all)
}
