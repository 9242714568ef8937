//! Keys that push into some sources alone: nobody who asks by one is told that there are others.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Service;
use crate::safety::secrets::database;
use crate::sandbox::{Kept, Sandbox};
use crate::service::http::{Reply, Request};
use crate::service::key;
use crate::stops::upgrade::comes;
