//! What others ask about people, and tell of them, in words of their own: plug-ins of Apache ManifoldCF ask what somebody holds (`user_acls`), and
//! identity providers push people and groups (`scim`).

pub(crate) mod scim;
pub(crate) mod user_acls;
