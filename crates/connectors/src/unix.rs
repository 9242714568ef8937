//! Users and groups of the local machine: the authority `unix`, and names of owners.

use std::collections::HashMap;
use std::io::Read;
use std::sync::OnceLock;

use ingather_connector::model::limits;

/// One line of the account file.
struct Account<'a> {
    name: &'a str,
    uid: u32,
    gid: u32,
}

fn accounts(text: &str) -> impl Iterator<Item = Account<'_>> {
    text.lines().filter_map(|line| {
        let mut parts = line.split(':');
        let (name, _, uid, gid) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        Some(Account { name, uid: uid.parse().ok()?, gid: gid.parse().ok()? })
    })
}

fn read_bounded(path: &str) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(limits::ACCOUNTS_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limits::ACCOUNTS_BYTES_MAX {
        return Err(std::io::Error::other(format!(
            "{path} is larger than {} bytes",
            limits::ACCOUNTS_BYTES_MAX
        )));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Names of owners, from the local account file as it was at the first question.
#[derive(Default)]
pub(crate) struct Owners(OnceLock<HashMap<u32, String>>);

impl Owners {
    /// The name of a user, or `uid:N`.
    pub(crate) fn name(&self, uid: u32) -> String {
        let names = self.0.get_or_init(|| {
            let text = read_bounded("/etc/passwd").unwrap_or_default();
            let mut names = HashMap::new();
            for account in accounts(&text) {
                names.entry(account.uid).or_insert_with(|| account.name.to_owned());
            }
            names
        });
        names.get(&uid).cloned().unwrap_or_else(|| format!("uid:{uid}"))
    }
}
