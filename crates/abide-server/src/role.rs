//! Roles: what a request must be allowed to do, and what a token allows.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a request must be allowed to do. Each allows what those before it allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Nothing: the route is for everybody, or proves by itself who may use it.
    Anyone,
    /// Look.
    Read,
    /// Bring work, do work, steer it.
    Operate,
    /// Change what is allowed and who may do what.
    Admin,
}

impl Role {
    /// The word for it in documents and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Anyone => "anyone",
            Role::Read => "read",
            Role::Operate => "operate",
            Role::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a token allows: every role but that of everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grant {
    /// [`Role::Read`].
    Read,
    /// [`Role::Operate`].
    Operate,
    /// [`Role::Admin`].
    Admin,
}

impl Grant {
    /// Its role.
    #[must_use]
    pub const fn role(self) -> Role {
        match self {
            Grant::Read => Role::Read,
            Grant::Operate => Role::Operate,
            Grant::Admin => Role::Admin,
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.role().as_str())
    }
}
