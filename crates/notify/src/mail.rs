//! Mail by SMTP, encrypted unless it is said otherwise; a mail that is sent again has the same Message-ID.

use std::path::PathBuf;
use std::time::Duration;

use ingather_contract::call::CallContext;
use ingather_contract::notifier::{Notice, Notifier};
use ingather_model::fault::Fault;
use ingather_model::limits;
use lettre::message::{Mailbox, MessageBuilder, header::ContentType};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::{Message, SmtpTransport, Transport};

use crate::certificates;
use crate::declared::{Encryption, MailSettings};
use crate::secret::read_secret;

/// Writes mails.
pub(crate) struct Mail {
    server: String,
    port: u16,
    tls: Tls,
    login: Option<(String, PathBuf)>,
    from: Mailbox,
    to: Vec<Mailbox>,
}

impl Mail {
    pub(crate) fn of(settings: MailSettings) -> Result<Mail, String> {
        let MailSettings { server, port, encryption, ca_file, user, password_file, from, to } = settings;
        let address = |text: &String| -> Result<Mailbox, String> {
            text.parse().map_err(|error| format!("`{text}` is no address of mail: {error}"))
        };
        if !(1..=limits::NOTICE_ADDRESSES_MAX).contains(&to.len()) {
            return Err(format!("`to` names 1 to {} addresses", limits::NOTICE_ADDRESSES_MAX));
        }
        let login = match (user, password_file) {
            (None, None) => None,
            (Some(_), Some(_)) if encryption == Encryption::None => {
                return Err("a password is not sent without encryption; take `starttls` or `tls`".to_owned());
            }
            (Some(user), Some(file)) => {
                read_secret(&file)?;
                Some((user, file))
            }
            _ => return Err("`user` and `password_file` belong together; give both, or none".to_owned()),
        };
        let parameters = || -> Result<TlsParameters, String> {
            let mut parameters = TlsParameters::builder(server.clone());
            for certificate in ca_file.as_deref().map_or(Ok(Vec::new()), certificates::read)? {
                let certificate = Certificate::from_der(certificate.to_vec());
                let certificate =
                    certificate.map_err(|error| format!("a certificate cannot be taken: {error}"))?;
                parameters = parameters.add_root_certificate(certificate);
            }
            parameters.build_rustls().map_err(|error| format!("TLS cannot be set up: {error}"))
        };
        let (tls, usual) = match encryption {
            Encryption::Starttls => (Tls::Required(parameters()?), 587),
            Encryption::Tls => (Tls::Wrapper(parameters()?), 465),
            Encryption::None => (Tls::None, 25),
        };
        let to = to.iter().map(address).collect::<Result<_, _>>()?;
        Ok(Mail { tls, port: port.unwrap_or(usual), login, from: address(&from)?, to, server })
    }

    fn message(&self, notice: &Notice) -> Result<Message, lettre::error::Error> {
        let id = format!("<{}@{}>", notice.id, self.from.email.domain());
        let message: MessageBuilder = Message::builder().from(self.from.clone()).message_id(Some(id));
        let message = self.to.iter().fold(message, |message, to| message.to(to.clone()));
        // So that no programs answer it that say who is away.
        message
            .header(AutoSubmitted)
            .subject(&notice.subject)
            .header(ContentType::TEXT_PLAIN)
            .body(notice.text.clone())
    }

    fn transport(&self) -> Result<SmtpTransport, String> {
        let transport = SmtpTransport::builder_dangerous(&self.server)
            .port(self.port)
            .tls(self.tls.clone())
            .timeout(Some(Duration::from_millis(limits::NOTICE_MS_MAX)));
        Ok(match &self.login {
            Some((user, file)) => {
                transport.credentials(Credentials::new(user.clone(), read_secret(file)?)).build()
            }
            None => transport.build(),
        })
    }
}

/// Says that a program has written the mail (RFC 3834).
#[derive(Clone)]
struct AutoSubmitted;

impl lettre::message::header::Header for AutoSubmitted {
    fn name() -> lettre::message::header::HeaderName {
        lettre::message::header::HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<AutoSubmitted, Box<dyn std::error::Error + Send + Sync>> {
        Ok(AutoSubmitted)
    }

    fn display(&self) -> lettre::message::header::HeaderValue {
        lettre::message::header::HeaderValue::new(Self::name(), "auto-generated".to_owned())
    }
}

impl Notifier for Mail {
    fn tell(&self, _: &CallContext, notice: &Notice) -> Result<(), Fault> {
        let message = self.message(notice);
        let message = message
            .map_err(|error| Fault::refused("mail", format!("the mail cannot be written: {error}")))?;
        let transport = self.transport().map_err(|why| Fault::passing("secret", why))?;
        transport.send(&message).map(drop).map_err(|error| {
            let why = format!("mail server {}: {error}", self.server);
            match error.is_permanent() {
                true => Fault::refused("mail", why),
                false => Fault::passing("mail", why),
            }
        })
    }

    fn describe(&self) -> String {
        let to: Vec<String> = self.to.iter().map(|to| to.email.to_string()).collect();
        format!("writes to {} by {}", to.join(", "), self.server)
    }
}

#[cfg(test)]
mod tests;
