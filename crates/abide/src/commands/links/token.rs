//! `abide links token`: tokens for development.

use abide_core::time::{Clock, Time};
use abide_engine::clock::SystemClock;
use abide_links::auth::jwt::{Audience, Claims, sign_with_private_key, sign_with_secret};
use serde::Serialize;

use super::LinksError;
use crate::cli::TokenFlags;
use crate::config::Sync;
use crate::failure::Failure;
use crate::output::Output;
use crate::services::sync::read_key;

#[derive(Serialize)]
struct TokenDocument<'a> {
    token: &'a str,
    org: &'a str,
    expires_at: Time,
}

/// Makes one.
pub(super) fn token(config: &Sync, flags: &TokenFlags, output: Output) -> Result<(), Failure> {
    let now_s = SystemClock::new().now().0.div_euclid(1_000);
    let set = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let claims = Claims {
        sub: flags.subject.clone(),
        org_id: flags.org.clone(),
        exp: now_s + flags.seconds,
        nbf: None,
        iat: Some(now_s),
        iss: set(&config.jwt_issuer),
        aud: set(&config.jwt_audience).map(Audience::One),
        email: None,
    };
    let signed = if !config.jwt_secret.is_empty() {
        sign_with_secret(&claims, &config.jwt_secret)
    } else if !config.jwt_private_key_file.is_empty() {
        let pem = read_key("sync.jwt_private_key_file", &config.jwt_private_key_file)?;
        sign_with_private_key(&claims, &pem)
    } else {
        return Err(LinksError::NothingToSignWith.into());
    };
    let token = signed.map_err(LinksError::from)?;
    let expires_at = Time(claims.exp.saturating_mul(1_000));
    output.data(&format!("{token}\n"), &TokenDocument { token: &token, org: &flags.org, expires_at })
}
