//! `ingather api-key …`: who may ask the service.

use ingather_operations::api_keys::{self, ApiKey, CreateApiKey, DeleteApiKey, KeyAccount, ListApiKeys};
use ingather_operations::links::{LOGIN_LINK, MakeLoginLink};
use ingather_operations::operation::Role;

use crate::arguments::{self, Global, RoleWord};
use crate::exit::{self, Result};
use crate::show;
use crate::wiring::{Program, caller, now};

const DAY_MS: i64 = 86_400_000;

pub(crate) fn run(global: &Global, command: arguments::ApiKey) -> Result<u8> {
    let program = Program::of(global)?;
    match command {
        arguments::ApiKey::Create { name, roles, sources, account, domain, days } => {
            let request = CreateApiKey {
                name,
                roles: roles.into_iter().map(role).collect(),
                account: account.map(|name| KeyAccount { system: "unix".to_owned(), domain, name }),
                sources: (!sources.is_empty()).then_some(sources),
                expires_at: days.map(|days| now() + i64::from(days) * DAY_MS),
            };
            create(&program, request)
        }
        arguments::ApiKey::List => list(&program),
        arguments::ApiKey::LoginLink { name } => {
            let link = LOGIN_LINK.call(&program.context(), &caller(), MakeLoginLink { name })?;
            if global.json {
                show::answer(&link);
                return Ok(exit::DONE);
            }
            show::line(&link.url);
            if !global.quiet {
                let until = show::time(link.until);
                show::stderr(&format!("it logs in as the API key {}, once, until {until}", link.name));
            }
            Ok(exit::DONE)
        }
        arguments::ApiKey::Delete { name } => {
            let gone = api_keys::DELETE.call(&program.context(), &caller(), DeleteApiKey { name })?;
            if global.json {
                show::answer(&gone);
            } else if !global.quiet {
                show::stderr(&format!("the API key {} opens nothing any more", gone.name));
            }
            Ok(exit::DONE)
        }
    }
}

fn create(program: &Program<'_>, request: CreateApiKey) -> Result<u8> {
    let created = api_keys::CREATE.call(&program.context(), &caller(), request)?;
    if program.global.json {
        show::answer(&created);
        return Ok(exit::DONE);
    }
    show::line(&created.key);
    if !program.global.quiet {
        show::stderr(&format!("this is the API key {}; it is shown this once", created.kept.name));
    }
    Ok(exit::DONE)
}

fn list(program: &Program<'_>) -> Result<u8> {
    let found = api_keys::LIST.call(&program.context(), &caller(), ListApiKeys {})?;
    if program.global.json {
        found.api_keys.iter().for_each(show::answer);
        return Ok(exit::DONE);
    }
    let row = |key: &ApiKey| {
        let roles: Vec<&str> = key.roles.iter().map(|role| role.as_str()).collect();
        let account = key.account.as_ref().map_or(String::new(), |account| account.name.clone());
        let expires = key.expires_at.map_or_else(|| "never".to_owned(), show::time);
        let sources = match key.sources.as_deref() {
            None => String::new(),
            Some([]) => "none".to_owned(),
            Some(names) => names.join(", "),
        };
        vec![key.name.clone(), roles.join(", "), sources, account, show::time(key.created_at), expires]
    };
    let rows: Vec<Vec<String>> = found.api_keys.iter().map(row).collect();
    show::table(&["KEY", "ROLES", "SOURCES", "ACCOUNT", "MADE", "EXPIRES"], &rows);
    Ok(exit::DONE)
}

fn role(word: RoleWord) -> Role {
    match word {
        RoleWord::Admin => Role::Admin,
        RoleWord::Operator => Role::Operator,
        RoleWord::Searcher => Role::Searcher,
        RoleWord::TokenReader => Role::TokenReader,
        RoleWord::Provisioner => Role::Provisioner,
        RoleWord::Pusher => Role::Pusher,
    }
}
