//! Settings by the names that ManifoldCF has for them, as `-D` takes them there.

use clap::Args;

/// Properties of ManifoldCF.
#[derive(Args, Debug)]
pub(crate) struct Properties {
    /// A setting by its name in ManifoldCF, such as org.apache.manifoldcf.crawler.threads=30 for --threads 30; may be given several times. Which
    /// there are, and what they mean here, says docs/generated/properties.md
    #[arg(short = 'D', long = "property", value_name = "NAME=VALUE")]
    pub(crate) given: Vec<String>,
}
