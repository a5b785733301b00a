//! HTTP around the engine: routes that decode, call and encode.
//!
//! What it is for: everything the engine can do, over HTTP under `/v1`, with one shape of errors and a bound on every
//! body, wait and page.
//! What it knows: an [`Engine`](abide_engine::Engine) handle, the words of `abide-core` and the views of `abide-store`.
//! What it does not know: which store stands behind the engine, configuration, signals.
//! Where to enter: [`serve`] to run it, `router.rs` for the routes, `services.rs` for what services bring, [`ErrorCode`] for how a request can fail.

mod access;
#[cfg(test)]
mod add_a_route;
mod app;
mod arriving;
mod backup;
mod body;
mod code;
mod cors;
mod drain;
mod error;
mod feed;
mod gate;
mod guard;
mod hidden;
pub mod metrics;
mod observe;
mod openapi;
mod page;
mod params;
mod path;
mod patience;
mod places;
mod poll;
mod rendered;
mod role;
mod route;
mod router;
mod routes;
mod sentence;
mod serve;
mod services;
mod stall;
mod sync;
pub mod tokens;
mod wait;

pub use access::{Admission, WithoutToken};
pub use backup::{BackupService, NoBackup};
pub use code::ErrorCode;
pub use role::{Grant, Role};
pub use route::RouteInfo;
pub use router::routes;
pub use serve::{Bounds, ServerOptions, serve};
pub use services::{
    Beside, CoordinatorService, EntitiesService, LinksService, PipelineService, Services, Silence,
    SyncService, Watch,
};
