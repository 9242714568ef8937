#!/bin/sh
# Installs what the tests need and the machine lacks: a compiler, PostgreSQL >= 15 (server programs), setfacl, setpriv,
# strace, openssl, dpkg and binutils for packages; Java, Maven and curl for a Tika server; tesseract, which reads pictures; a mail server in
# Python; venv, Chromium and its driver, with which the API and the search page are checked from outside; nginx and documentation in HTML,
# which is a site to crawl; slapd and ldapsearch, a directory to ask; Samba, a domain of Active Directory; Node.js, for an OpenID provider, and tsc, for
# the client in TypeScript; a NATS server. With --bench also omindex and wget, which the bench compares with.
# Also makes the ordinary user that servers and permission tests run as, when the caller is root or may be by sudo.
set -eu

needed=''
command -v cc >/dev/null 2>&1 || needed="$needed build-essential"
command -v setfacl >/dev/null 2>&1 || needed="$needed acl"
command -v strace >/dev/null 2>&1 || needed="$needed strace"
command -v dpkg-deb >/dev/null 2>&1 || needed="$needed dpkg"
command -v objdump >/dev/null 2>&1 || needed="$needed binutils"
command -v openssl >/dev/null 2>&1 || needed="$needed openssl"
command -v setpriv >/dev/null 2>&1 || needed="$needed util-linux"
command -v javac >/dev/null 2>&1 || needed="$needed default-jdk-headless"
command -v mvn >/dev/null 2>&1 || needed="$needed maven"
command -v curl >/dev/null 2>&1 || needed="$needed curl"
command -v tesseract >/dev/null 2>&1 || needed="$needed tesseract-ocr"
/usr/bin/python3 -c 'import aiosmtpd' >/dev/null 2>&1 || needed="$needed python3-aiosmtpd"
/usr/bin/python3 -c 'import ensurepip' >/dev/null 2>&1 || needed="$needed python3-venv"
command -v chromium >/dev/null 2>&1 || needed="$needed chromium"
command -v chromedriver >/dev/null 2>&1 || needed="$needed chromium-driver"
[ -x /usr/sbin/nginx ] || needed="$needed nginx-light"
[ -x /usr/sbin/slapd ] || needed="$needed slapd"
command -v ldapsearch >/dev/null 2>&1 || needed="$needed ldap-utils"
[ -x /usr/sbin/samba ] || needed="$needed samba"
[ -d /usr/share/samba/setup ] || needed="$needed samba-ad-provision"
[ -n "$(find /usr/lib -path '*/samba/ldb/samldb.so' 2>/dev/null)" ] || needed="$needed samba-dsdb-modules"
[ -n "$(find /usr/lib -path '*/samba/vfs/acl_xattr.so' 2>/dev/null)" ] || needed="$needed samba-vfs-modules"
command -v ldbsearch >/dev/null 2>&1 || needed="$needed ldb-tools"
[ -x /usr/sbin/nats-server ] || command -v nats-server >/dev/null 2>&1 || needed="$needed nats-server"
command -v node >/dev/null 2>&1 || needed="$needed nodejs"
command -v npm >/dev/null 2>&1 || needed="$needed npm"
command -v tsc >/dev/null 2>&1 || needed="$needed node-typescript"
[ -n "$(find /usr/share/doc -path '*/postgresql-doc-*/html/index.html' 2>/dev/null)" ] || needed="$needed postgresql-doc"
"$(dirname "$0")/postgres.sh" --programs >/dev/null 2>&1 || needed="$needed postgresql"
if [ "${1:-}" = --bench ]; then
    command -v omindex >/dev/null 2>&1 || needed="$needed xapian-omega"
    command -v wget >/dev/null 2>&1 || needed="$needed wget"
fi

# as_root COMMAND...: runs it with the rights to change the system, or says that there are none.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        sudo -n "$@"
    else
        echo "scripts/install.sh: missing:$needed. Install them as root (Debian: apt-get install$needed) and try again." >&2
        exit 1
    fi
}

if [ -n "$needed" ]; then
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "scripts/install.sh: missing:$needed, and there is no apt-get. Install them by hand and try again." >&2
        exit 1
    fi
    echo "scripts/install.sh: installing$needed"
    case "$needed" in
    *postgresql*)
        # The package would start a server of its own; the tests start a private one.
        as_root sh -c 'mkdir -p /etc/postgresql-common/createcluster.d &&
            echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.d/ingather.conf'
        ;;
    esac
    case "$needed" in
    *nginx*)
        # The package would start a server for everybody; the bench starts a private one.
        as_root sh -c 'mkdir -p /etc/systemd/system && ln -sf /dev/null /etc/systemd/system/nginx.service'
        ;;
    esac
    case "$needed" in
    *nats-server*)
        # The package would start a server for everybody; tests start private ones.
        as_root sh -c 'mkdir -p /etc/systemd/system && ln -sf /dev/null /etc/systemd/system/nats-server.service'
        ;;
    esac
    case "$needed" in
    *slapd*)
        # The package would make a directory and start a server for everybody; tests start private ones.
        as_root sh -c 'mkdir -p /etc/systemd/system && ln -sf /dev/null /etc/systemd/system/slapd.service &&
            echo "slapd slapd/no_configuration boolean true" | debconf-set-selections'
        ;;
    esac
    case "$needed" in
    *samba*)
        # The package would start servers for everybody; tests start private ones.
        as_root sh -c 'mkdir -p /etc/systemd/system && for name in smbd nmbd winbind samba-ad-dc; do
            ln -sf /dev/null "/etc/systemd/system/$name.service"; done'
        ;;
    esac
    as_root apt-get -o DPkg::Lock::Timeout=120 -q update
    # shellcheck disable=SC2086 # a list of packages
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -q install -y \
        --no-install-recommends $needed
fi

if ! "$(dirname "$0")/postgres.sh" --programs >/dev/null; then
    echo "scripts/install.sh: the packages are there, but no PostgreSQL of version 15 or later" >&2
    exit 1
fi
if ! command -v cargo >/dev/null 2>&1; then
    echo "scripts/install.sh: no cargo. Install Rust 1.90 or later (https://rustup.rs) and try again." >&2
    exit 1
fi
for component in rustfmt clippy; do
    if ! cargo "$(echo $component | sed s/^rust//)" --version >/dev/null 2>&1; then
        rustup component add "$component"
    fi
done
# Without these rights, tests that need other users run in a namespace, which has that user of its own.
if ! id ingather-test >/dev/null 2>&1 && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }; then
    as_root useradd --user-group --no-create-home --home-dir /nonexistent --shell /bin/sh ingather-test
fi
