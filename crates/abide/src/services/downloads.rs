//! Downloads: URLs from a queue into a directory.

use std::path::PathBuf;
use std::sync::Arc;

use abide_core::limit::LimitPolicy;
use abide_core::name::{LimitKey, QueueName};
use abide_core::queue::QueuePolicy;
use abide_core::retry::Backoff;
use abide_downloads::{Downloads, QUEUE};
use abide_engine::clock::SystemClock;
use abide_engine::registry::RegisterError;
use abide_fetch::guard::Reach;
use abide_fetch::options::RobotsRule;
use abide_fetch::{FetchOptions, Fetcher, Guard};

use super::Hosted;
use super::caps::OfEngine;
use super::defaults::NewQueue;
use crate::config::Config;
use crate::failure::Failure;

/// The directory for files when none is configured, in the data directory.
const DIR: &str = "downloads";

pub(super) fn add(config: &Config, hosted: &mut Hosted) -> Result<(), Failure> {
    add_defaults(config, hosted)?;
    if config.downloads.workers > 0 {
        let fetcher = fetcher(config, config.downloads.max_per_host)?;
        fetcher.expect_caps();
        let asking = fetcher.clone();
        hosted.after_start.push(Box::new(move |started| {
            asking.ask_caps(Arc::new(OfEngine(started.engine.clone())));
        }));
        let downloads = Downloads::new(fetcher, dir(config), config.downloads.reserve_bytes);
        hosted.services.downloads = Some(downloads.meter().clone());
        abide_downloads::register(&mut hosted.registry, downloads, config.downloads.workers)?;
    }
    Ok(())
}

/// The policy of the queue and of hosts, until somebody sets others.
pub(super) fn add_defaults(config: &Config, hosted: &mut Hosted) -> Result<(), Failure> {
    let options = &config.downloads;
    let backoff = Backoff { base_ms: options.retry_backoff_ms, cap_ms: options.retry_backoff_max_ms };
    let policy = QueuePolicy { max_attempts: options.max_attempts, backoff, ..QueuePolicy::default() };
    let queue = QueueName::new(QUEUE).map_err(RegisterError::from)?;
    let per_host = LimitPolicy { concurrency: Some(options.max_per_host), ..LimitPolicy::default() };
    let limits = vec![(LimitKey::new("host:*").map_err(RegisterError::from)?, per_host)];
    hosted.defaults.queues.push(NewQueue { queue, policy, limits });
    Ok(())
}

/// What fetches URLs that come from data, `per_host` at a time where redirects lead.
pub(crate) fn fetcher(config: &Config, per_host: u32) -> Result<Fetcher, Failure> {
    let config = &config.fetch;
    let guard = if config.allow_private { Guard::new(Reach::Anywhere) } else { Guard::new(Reach::Public) };
    let defaults = FetchOptions::default();
    let options = FetchOptions {
        user_agent: if config.user_agent.is_empty() {
            defaults.user_agent
        } else {
            config.user_agent.clone()
        },
        robots: if config.robots { RobotsRule::Obey } else { RobotsRule::Ignore },
        per_host: usize::try_from(per_host).unwrap_or(usize::MAX),
        ..defaults
    };
    Fetcher::new(guard, options, Arc::new(SystemClock::new())).map_err(Failure::Fetcher)
}

/// Where files go unless a command says otherwise.
pub(crate) fn dir(config: &Config) -> PathBuf {
    if config.downloads.out.is_empty() {
        config.store.data_dir.join(DIR)
    } else {
        PathBuf::from(&config.downloads.out)
    }
}
