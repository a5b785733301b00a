//! The sync backend: logs of stores, and who may see them.

use std::sync::Arc;

use abide_links::auth::keys::ApiKeys;
use abide_links::auth::{Authority, JwtKeys, Verifier};
use abide_links::sync::SyncLog;
use abide_server::SyncService;

use super::Hosted;
use crate::config::{Config, Sync};
use crate::failure::Failure;

pub(super) fn add(config: &Config, hosted: &mut Hosted) -> Result<(), Failure> {
    add_for(authority(config)?, hosted)
}

/// Only the command that hosts it may do anything.
pub(super) fn add_private(hosted: &mut Hosted) -> Result<(), Failure> {
    add_for(Authority::Checked { tokens: None }, hosted)
}

fn add_for(authority: Authority, hosted: &mut Hosted) -> Result<(), Failure> {
    hosted.registry.object(SyncLog::with_processor())?;
    hosted.registry.object(ApiKeys)?;
    hosted.services.sync = Some(SyncService { authority: Arc::new(authority) });
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
