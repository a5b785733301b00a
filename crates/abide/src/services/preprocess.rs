//! Preprocessing: batches of scans through phases, with their buckets and launcher.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use abide_blob::{Bucket, S3Options, Signer};
use abide_core::limit::{LimitPolicy, Rate};
use abide_core::name::LimitKey;
use abide_engine::Object;
use abide_engine::registry::RegisterError;
use abide_media::PdfSettings;
use abide_pipeline::Pipeline;
use abide_pipeline::upload::Intake;
use abide_preprocess::launch::{Fly, FlyApp, Launcher, Local};
use abide_preprocess::{Buckets, Credentials, Options, PhaseSettings, Service, Setup, Telling};
use abide_sqlite::DataDir;

use super::Hosted;
use crate::config::{self, Config};
use crate::failure::Failure;

/// Where local buckets are when nothing else is configured, in the data directory.
const DIR: &str = "buckets";
/// Where workers of this machine hold what they work on, in the data directory.
const WORK_DIR: &str = "work";
/// How long an unfinished write may be quiet before it counts as cut off.
const UNFINISHED_KEPT_MS: i64 = 60 * 60 * 1_000;
/// What signs callbacks and URLs, in the data directory.
const KEY: &str = "preprocess.key";

/// Adds the service as it is configured.
pub(crate) fn add(config: &Config, hosted: &mut Hosted) -> Result<(), Failure> {
    let mut setup = setup(config)?;
    // Who delivers to nobody tells the pipeline of this server; who does may deliver to this server.
    if setup.worker_url.is_empty() {
        setup.options.tell = Some(Pipeline::KIND.to_owned());
    } else {
        setup.options.ask = Some(Intake::KIND.to_owned());
    }
    add_defaults(config, hosted)?;
    let orchestrator_url = config.preprocess.orchestrator_url.clone();
    begin(hosted, setup, orchestrator_url).map(drop)
}

/// Registers a service; it begins with the engine, under `url` or, if that is empty, under the address.
pub(crate) fn begin(hosted: &mut Hosted, setup: Setup, url: String) -> Result<Service, Failure> {
    let work_dir = match &setup.launcher {
        Launcher::Local(local) => Some(local.work_dir.clone()),
        Launcher::Fly(_) => None,
    };
    let local_buckets = setup.buckets.clone();
    let service = Service::register(&mut hosted.registry, setup)?;
    hosted.services.preprocess = Some(service.clone());
    let beginning = service.clone();
    hosted.after_start.push(Box::new(move |started| {
        // What workers of a server that was killed left behind: the data directory is ours, and none of ours runs yet.
        if let Some(left) = work_dir.filter(|left| left.exists())
            && let Err(error) = fs::remove_dir_all(&left)
        {
            tracing::warn!(target: "preprocess", %error, dir = %left.display(), "not emptied");
        }
        // And what its writes left: other processes write there too, so only what is old.
        let until = started.engine.now().plus_ms(-UNFINISHED_KEPT_MS);
        drop(tokio::task::spawn_blocking(move || {
            let removed: u64 = [&local_buckets.staging, &local_buckets.archive]
                .map(|bucket| bucket.remove_unfinished(until))
                .iter()
                .sum();
            if removed > 0 {
                tracing::info!(target: "preprocess", removed, "unfinished writes of before were removed");
            }
        }));
        let url = if url.is_empty() { own_url(started.address) } else { url };
        beginning.begin(started.engine.clone(), url);
    }));
    Ok(service)
}

/// Where workers of this machine reach a server that listens at `address`; and everybody, by what refs name, if it is not every one.
fn own_url(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        let here = if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
        address.set_ip(here);
        tracing::warn!(
            target: "preprocess",
            "preprocess.orchestrator_url is empty and the server listens on every address: refs of images name {address}"
        );
    }
    format!("http://{address}/preprocess")
}

/// How fast machines are started, until somebody sets another rate.
fn add_defaults(config: &Config, hosted: &mut Hosted) -> Result<(), Failure> {
    if config.launcher.kind == "fly" {
        let rate: Result<Rate, _> = config.launcher.spawn_rate.parse();
        let rate = rate.map_err(|error| Failure::Unusable(format!("launcher.spawn_rate: {error}")))?;
        let policy = LimitPolicy { rates: vec![rate], ..LimitPolicy::default() };
        hosted.defaults.limits.push((LimitKey::new("launch:*").map_err(RegisterError::from)?, policy));
    }
    Ok(())
}

/// Everything that the configuration says.
pub(crate) fn setup(config: &Config) -> Result<Setup, Failure> {
    let signer = signer(&config.store.data_dir)?;
    let buckets = buckets(config, signer)?;
    let launcher = match config.launcher.kind {
        "fly" => Launcher::Fly(fly(config)?),
        _ => Launcher::Local(local(config)?),
    };
    let credentials = match config.launcher.credentials {
        "bucket" => Credentials::Bucket,
        _ => Credentials::Presigned,
    };
    if credentials == Credentials::Bucket {
        if config.buckets.kind != "s3" {
            let message = "launcher.credentials is bucket, and local buckets have none: choose presigned";
            return Err(Failure::Unusable(message.to_owned()));
        }
        tracing::warn!(
            target: "preprocess",
            "launcher.credentials is bucket: every worker gets the keys to everything in the buckets"
        );
    }
    let of_buckets = &config.buckets;
    let telling = Telling {
        credentials,
        r2: [&of_buckets.account_id, &of_buckets.access_key_id, &of_buckets.secret_access_key]
            .map(Clone::clone),
        r2_endpoint: of_buckets.endpoint.clone(),
        staging_name: of_buckets.staging.clone(),
        archive_name: of_buckets.archive.clone(),
        cdn_api_url: config.preprocess.cdn_api_url.clone(),
        cdn_public_url: config.preprocess.cdn_public_url.clone(),
        pdf_dpi: Some(config.preprocess.pdf_dpi).filter(|dpi| *dpi != PdfSettings::default().dpi),
        preset: if config.launcher.preset == "fast" { "fast".to_owned() } else { String::new() },
    };
    let in_flight = match &launcher {
        Launcher::Local(_) => config.launcher.in_flight,
        Launcher::Fly(_) => config.launcher.fly_in_flight,
    };
    let setup = Setup::new(buckets, launcher, in_flight);
    let options = options(&config.preprocess, setup.options.clone());
    let worker_url = config.preprocess.worker_url.clone();
    Ok(Setup { options, telling, worker_url, ..setup })
}

fn options(config: &config::Preprocess, options: Options) -> Options {
    let settings = |batch_size, alarm_delay_ms, task_timeout_ms, memory_mb| PhaseSettings {
        batch_size,
        alarm_delay_ms,
        task_timeout_ms,
        memory_mb,
    };
    let c = config;
    let settings = BTreeMap::from([
        (
            "TIFF_CONVERSION",
            settings(c.batch_size_tiff, c.alarm_delay_tiff_ms, c.task_timeout_tiff_ms, c.memory_tiff_mb),
        ),
        (
            "PDF_SPLITTING",
            settings(c.batch_size_pdf, c.alarm_delay_pdf_ms, c.task_timeout_pdf_ms, c.memory_pdf_mb),
        ),
        (
            "IMAGE_PROCESSING",
            settings(c.batch_size_image, c.alarm_delay_image_ms, c.task_timeout_image_ms, c.memory_image_mb),
        ),
    ]);
    Options {
        settings,
        error_retry_ms: c.alarm_delay_error_retry_ms,
        max_retry_attempts: c.max_retry_attempts,
        task_attempts: c.task_attempts,
        staging_kept_ms: c.staging_kept_ms,
        ..options
    }
}

/// Where files are put that are to be preprocessed.
pub(crate) fn staging(config: &Config) -> Result<Bucket, Failure> {
    Ok(buckets(config, signer(&config.store.data_dir)?)?.staging)
}

fn buckets(config: &Config, signer: Signer) -> Result<Buckets, Failure> {
    let of = &config.buckets;
    if of.kind == "s3" {
        let endpoint = match (of.endpoint.as_str(), of.account_id.as_str()) {
            ("", "") => {
                let message =
                    "buckets.kind is s3: set buckets.account_id (R2_ACCOUNT_ID) or buckets.endpoint";
                return Err(Failure::Unusable(message.to_owned()));
            }
            ("", account) => format!("https://{account}.r2.cloudflarestorage.com"),
            (endpoint, _) => endpoint.to_owned(),
        };
        let bucket = |name: &str| {
            Bucket::s3(&S3Options {
                bucket: name.to_owned(),
                endpoint: endpoint.clone(),
                region: of.region.clone(),
                access_key_id: of.access_key_id.clone(),
                secret_access_key: of.secret_access_key.clone(),
                path_style: of.path_style,
            })
        };
        return Ok(Buckets { staging: bucket(&of.staging)?, archive: bucket(&of.archive)?, signer });
    }
    let dir = dir(config);
    Ok(Buckets {
        staging: Bucket::directory(&dir.join("staging"))?,
        archive: Bucket::directory(&dir.join("archive"))?,
        signer,
    })
}

/// Where buckets of this machine are.
fn dir(config: &Config) -> PathBuf {
    let of = &config.buckets;
    if of.dir.is_empty() { config.store.data_dir.join(DIR) } else { PathBuf::from(&of.dir) }
}

/// The same, unless buckets are on an S3 service.
pub(crate) fn local_dir(config: &Config) -> Option<PathBuf> {
    (config.buckets.kind != "s3").then(|| dir(config))
}

/// Processes of this machine: this program, unless another is configured.
fn local(config: &Config) -> Result<Local, Failure> {
    let work_dir = std::path::absolute(config.store.data_dir.join(WORK_DIR)).map_err(Failure::System)?;
    let (program, arguments) = if config.launcher.command.is_empty() {
        (std::env::current_exe().map_err(Failure::System)?, vec!["worker".into()])
    } else {
        (PathBuf::from(&config.launcher.command), Vec::new())
    };
    Ok(Local { program, arguments, work_dir })
}

fn fly(config: &Config) -> Result<Fly, Failure> {
    let of = &config.launcher;
    let needed = [
        ("launcher.fly_api_url (https://api.machines.dev)", &of.fly_api_url),
        ("launcher.fly_api_token (FLY_API_TOKEN)", &of.fly_api_token),
        ("launcher.fly_tiff_app (FLY_TIFF_APP_NAME)", &of.fly_tiff_app),
        ("launcher.fly_tiff_image (FLY_TIFF_WORKER_IMAGE)", &of.fly_tiff_image),
        ("preprocess.orchestrator_url (ORCHESTRATOR_URL)", &config.preprocess.orchestrator_url),
    ];
    let missing: Vec<&str> =
        needed.iter().filter(|(_, value)| value.is_empty()).map(|(name, _)| *name).collect();
    if !missing.is_empty() {
        return Err(Failure::Unusable(format!("launcher.kind is fly: set {}", missing.join(", "))));
    }
    let app = |app: &String, image: &String| {
        let [app, image] = [(app, &of.fly_tiff_app), (image, &of.fly_tiff_image)]
            .map(|(own, tiff)| if own.is_empty() { tiff.clone() } else { own.clone() });
        FlyApp { app, image }
    };
    Ok(Fly {
        api_base: of.fly_api_url.clone(),
        token: of.fly_api_token.clone(),
        region: of.fly_region.clone(),
        apps: BTreeMap::from([
            ("tiff".to_owned(), app(&of.fly_tiff_app, &of.fly_tiff_image)),
            ("pdf".to_owned(), app(&of.fly_pdf_app, &of.fly_pdf_image)),
            ("image".to_owned(), app(&of.fly_image_app, &of.fly_image_image)),
        ]),
        poll: Duration::from_millis(of.poll_ms),
    })
}

/// What signs callbacks and URLs: drawn once for a data directory, so that they outlive a restart.
fn signer(data_dir: &Path) -> Result<Signer, Failure> {
    let path = data_dir.join(KEY);
    // A directory that cannot be used at all says so best by itself.
    let unusable = |error: io::Error| match DataDir::open(data_dir) {
        Err(unusable) => Failure::DataDir(unusable),
        Ok(_) => Failure::KeyFile { path: path.clone(), error },
    };
    DirBuilder::new().recursive(true).mode(0o700).create(data_dir).map_err(unusable)?;
    let mut drawn = [0_u8; 32];
    getrandom::fill(&mut drawn).map_err(|error| unusable(io::Error::other(error.to_string())))?;
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
        Ok(mut file) => {
            file.write_all(&drawn).and_then(|()| file.sync_all()).map_err(unusable)?;
            Ok(Signer::new(drawn))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let key: Vec<u8> = fs::read(&path).map_err(unusable)?;
            let wrong = || unusable(io::Error::other("it does not hold 32 bytes: remove it"));
            <[u8; 32]>::try_from(key).map(Signer::new).map_err(|_| wrong())
        }
        Err(error) => Err(unusable(error)),
    }
}
