//! The sync backend: logs of stores, and who may see them.

use std::time::Duration;

use abide_links::auth::keys::ApiKeys;
use abide_links::auth::{Authority, JwtKeys, Verifier};
use abide_links::sync::SyncLog;
use abide_server::SyncService;

use super::Hosted;
use crate::config::{Config, Sync};
use crate::failure::Failure;
use crate::open_files;

/// Files that stay for connections and the store.
const OTHER_FILES: u64 = 1_024;
/// Sockets that are taken on any system.
const SOCKETS_MIN: u32 = 128;

pub(super) fn add(config: &Config, hosted: &mut Hosted) -> Result<(), Failure> {
    let files = open_files::raise();
    let max_sockets = sockets_within(files, config.sync.max_sockets);
    if max_sockets < config.sync.max_sockets {
        tracing::info!(
            target: "sync", files, max_sockets,
            "fewer sockets are taken than sync.max_sockets says: the system does not allow more open files"
        );
    }
    let recheck = Duration::from_millis(config.sync.recheck_ms);
    let authority = authority(config)?;
    if config.sync.open && matches!(authority, Authority::Checked { tokens: None }) {
        hosted.after_start.push(Box::new(|_| {
            tracing::info!(
                target: "sync",
                "sync.open counts on loopback only: at this address stores are open to API keys (abide links key create), and \
                 to tokens with sync.jwt_secret or sync.jwt_public_key_file"
            );
        }));
    }
    add_for(SyncService::new(authority, max_sockets, recheck), hosted)
}

/// As many sockets as are wanted and as there are files for.
fn sockets_within(files: u64, wanted: u32) -> u32 {
    let room = u32::try_from(files.saturating_sub(OTHER_FILES)).unwrap_or(u32::MAX);
    wanted.min(room.max(SOCKETS_MIN))
}

/// Only the command that hosts it may do anything.
pub(super) fn add_private(hosted: &mut Hosted) -> Result<(), Failure> {
    let (authority, recheck) = (Authority::Checked { tokens: None }, Duration::from_secs(30));
    add_for(SyncService::new(authority, SOCKETS_MIN, recheck), hosted)
}

fn add_for(service: SyncService, hosted: &mut Hosted) -> Result<(), Failure> {
    hosted.registry.object(SyncLog::with_processor())?;
    hosted.registry.object(ApiKeys)?;
    hosted.services.sync = Some(service);
    Ok(())
}

/// Who decides. A key for tokens ends the open mode, and so does an address that other machines reach.
fn authority(config: &Config) -> Result<Authority, Failure> {
    let is_local = config.server.listen.ip().to_canonical().is_loopback();
    let config = &config.sync;
    let Some((option, keys)) = jwt_keys(config)? else {
        let is_open = config.open && is_local;
        return Ok(if is_open { Authority::Open } else { Authority::Checked { tokens: None } });
    };
    let set = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let verifier = Verifier::new(&keys, set(&config.jwt_issuer), set(&config.jwt_audience))
        .map_err(|error| Failure::SyncKey { option, reason: error.to_string() })?;
    Ok(Authority::Checked { tokens: Some(Box::new(verifier)) })
}

fn jwt_keys(config: &Sync) -> Result<Option<(&'static str, JwtKeys)>, Failure> {
    const SECRET: &str = "sync.jwt_secret";
    const PUBLIC_KEY: &str = "sync.jwt_public_key_file";
    match (config.jwt_secret.as_str(), config.jwt_public_key_file.as_str()) {
        ("", "") => Ok(None),
        (secret, "") => Ok(Some((SECRET, JwtKeys::Secret(secret.to_owned())))),
        ("", file) => Ok(Some((PUBLIC_KEY, JwtKeys::PublicKey(read_key(PUBLIC_KEY, file)?)))),
        (_, _) => {
            let reason = format!("{SECRET} is set too: choose one, or a token of either would count");
            Err(Failure::SyncKey { option: PUBLIC_KEY, reason })
        }
    }
}

/// A key file.
pub(crate) fn read_key(option: &'static str, file: &str) -> Result<Vec<u8>, Failure> {
    std::fs::read(file)
        .map_err(|error| Failure::SyncKey { option, reason: format!("{file} cannot be read: {error}") })
}

#[cfg(test)]
mod tests {
    use super::sockets_within;

    #[test]
    fn sockets_leave_files_for_everything_else() {
        for (files, wanted, expected) in [
            (20_000, 16_384, 16_384),
            (4_096, 16_384, 3_072),
            (1_024, 16_384, 128),
            (1_024, 5, 5),
            (u64::MAX, 9, 9),
        ] {
            assert_eq!(sockets_within(files, wanted), expected, "{wanted} of {files}");
        }
    }
}
