//! table: what a file of notifiers declares, and what is refused of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ingather_contract::notifier::Notifier;
use ingather_model::job::notify::{Notify, NotifyEvent};
use ingather_model::limits;
use serde::Deserialize;

use crate::command::Command;

/// A file of notifiers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declared {
    /// By name.
    #[serde(default)]
    pub notifiers: BTreeMap<String, Declaration>,
}

/// One notifier: one of `mail`, `webhook`, `command`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// What it is told of all jobs; nothing when left out: then jobs name it.
    #[serde(default)]
    pub on: Vec<NotifyEvent>,
    /// It writes mails.
    pub mail: Option<MailSettings>,
    /// It asks a program on the web.
    pub webhook: Option<WebhookSettings>,
    /// It runs a command.
    pub command: Option<CommandSettings>,
}

/// Mail by SMTP.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MailSettings {
    /// Name of the server, which its certificate has.
    pub server: String,
    /// Port; 587, with `tls` 465, with `none` 25 when left out.
    pub port: Option<u16>,
    /// How the traffic is encrypted.
    #[serde(default)]
    pub encryption: Encryption,
    /// A file with certificates (PEM) that stand behind that of the server, beside those of the system.
    pub ca_file: Option<PathBuf>,
    /// Who sends, for servers that ask.
    pub user: Option<String>,
    /// A file with the password, which nobody else on the machine may read.
    pub password_file: Option<PathBuf>,
    /// Address of the sender.
    pub from: String,
    /// Addresses of those who are told.
    pub to: Vec<String>,
}

/// How traffic with a mail server is encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encryption {
    /// After the greeting; a server that cannot is not used.
    #[default]
    Starttls,
    /// From the first byte on.
    Tls,
    /// Not at all: no password is sent so.
    None,
}

/// A webhook.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookSettings {
    /// Where: https, or http.
    pub url: String,
    /// A file with the secret that it is signed with, which nobody else on the machine may read.
    pub secret_file: PathBuf,
    /// It may be an address that only this machine or this network reaches.
    #[serde(default)]
    pub private: bool,
    /// A file with certificates (PEM) that stand behind that of the server, beside those of the system.
    pub ca_file: Option<PathBuf>,
}

/// A command.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandSettings {
    /// The path of a program and its words; no shell reads them.
    pub run: Vec<String>,
    /// How long it may take, seconds; 30 at most.
    pub seconds: Option<u64>,
}

/// Notifiers that were opened.
#[derive(Clone, Default)]
pub struct Notifiers {
    /// By name.
    pub by_name: BTreeMap<String, Arc<dyn Notifier>>,
    /// Those that are told of all jobs.
    pub of_all: Vec<Notify>,
}

/// Opens what a file declares.
///
/// # Errors
/// A sentence with the name of the notifier that cannot work, and why.
pub fn open(declared: Declared) -> Result<Notifiers, String> {
    if declared.notifiers.len() > limits::NOTIFIERS_MAX {
        return Err(format!("there are more than {} notifiers; declare fewer", limits::NOTIFIERS_MAX));
    }
    let mut notifiers = Notifiers::default();
    for (name, Declaration { on, mail, webhook, command }) in declared.notifiers {
        let wrong = |why: String| format!("notifier {name}: {why}");
        // Said of a name alone, so that one that jobs cannot name is not declared either.
        let notify = Notify {
            to: name.clone(),
            on: if on.is_empty() { vec![NotifyEvent::Failed] } else { on.clone() },
        };
        notify.check()?;
        let notifier = match (mail, webhook, command) {
            (Some(mail), None, None) => open_mail(mail),
            (None, Some(webhook), None) => open_webhook(webhook),
            (None, None, Some(command)) => {
                Command::of(command).map(|command| Arc::new(command) as Arc<dyn Notifier>)
            }
            _ => {
                Err("it is to be one of `mail`, `webhook` and `command`; declare two for two ways".to_owned())
            }
        };
        notifiers.by_name.insert(name.clone(), notifier.map_err(wrong)?);
        if !on.is_empty() {
            notifiers.of_all.push(notify);
        }
    }
    Ok(notifiers)
}

#[cfg(feature = "mail")]
fn open_mail(settings: MailSettings) -> Result<Arc<dyn Notifier>, String> {
    crate::mail::Mail::of(settings).map(|mail| Arc::new(mail) as Arc<dyn Notifier>)
}

#[cfg(not(feature = "mail"))]
fn open_mail(_: MailSettings) -> Result<Arc<dyn Notifier>, String> {
    Err("this program was built without `mail`".to_owned())
}

#[cfg(feature = "webhook")]
fn open_webhook(settings: WebhookSettings) -> Result<Arc<dyn Notifier>, String> {
    crate::webhook::Webhook::of(settings).map(|webhook| Arc::new(webhook) as Arc<dyn Notifier>)
}

#[cfg(not(feature = "webhook"))]
fn open_webhook(_: WebhookSettings) -> Result<Arc<dyn Notifier>, String> {
    Err("this program was built without `webhook`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(declared: serde_json::Value) -> String {
        match serde_json::from_value(declared).map_err(|error| error.to_string()).and_then(open) {
            Err(why) => why,
            Ok(_) => panic!("it is taken"),
        }
    }

    #[test]
    fn what_cannot_work_is_refused_with_the_name_of_the_notifier() {
        let of =
            |declaration: serde_json::Value| refused(serde_json::json!({"notifiers": {"ops": declaration}}));
        let command = serde_json::json!({"run": ["/bin/true"]});
        assert!(of(serde_json::json!({})).starts_with("notifier ops: it is to be one of"));
        assert!(of(serde_json::json!({"command": {"run": []}})).contains("names no program"));
        assert!(of(serde_json::json!({"command": {"run": ["true"]}})).contains("path that begins with /"));
        assert!(
            of(serde_json::json!({"command": {"run": ["/bin/true"], "seconds": 31}})).contains("1 to 30")
        );
        assert!(
            of(serde_json::json!({"command": command, "on": ["ended"]})).contains("unknown variant `ended`")
        );
        assert!(of(serde_json::json!({"command": command, "off": []})).contains("unknown field `off`"));
        let name = serde_json::json!({"notifiers": {"a b": {"command": command}}});
        assert!(refused(name).contains("is no name of a notifier"));
    }

    #[test]
    fn a_notifier_is_told_of_all_jobs_only_where_that_is_said() {
        let declared = serde_json::json!({"notifiers": {
            "all": {"command": {"run": ["/bin/true"]}, "on": ["failed", "held"]},
            "named": {"command": {"run": ["/bin/true"]}},
        }});
        let notifiers = open(serde_json::from_value(declared).unwrap()).unwrap();
        assert_eq!(notifiers.by_name.keys().collect::<Vec<_>>(), ["all", "named"]);
        let told: Vec<String> = notifiers.of_all.iter().map(Notify::describe).collect();
        assert_eq!(told, ["all:failed,held"]);
        assert_eq!(notifiers.by_name["all"].describe(), "runs /bin/true");
    }
}
