#!/bin/sh
# Makes a Debian package of a built program: deb.sh PROGRAM FOLDER writes traceloom_VERSION_ARCHITECTURE.deb to the folder, and
# beside it traceloom_VERSION_ARCHITECTURE.cdx.json, the crates that the program is made of, as CycloneDX.
# DEB_COMPRESSION is the compression of dpkg-deb, xz unless given.
set -eu

program=$1
out=$2
here=$(cd "$(dirname "$0")" && pwd)
version=$("$program" --version | cut -d' ' -f2)
architecture=$(dpkg --print-architecture)

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"

install -D -m 755 "$program" "$root/usr/bin/traceloom"
install -D -m 644 "$here/traceloom.service" "$root/usr/lib/systemd/system/traceloom.service"
install -D -m 644 "$here/serve.toml" "$root/etc/traceloom/serve.toml"

mkdir -p "$root/usr/share/man/man1"
"$program" man -o "$root/usr/share/man/man1"
gzip -9n "$root"/usr/share/man/man1/*.1
completions() {
    mkdir -p "$(dirname "$root/$2")"
    "$program" completions "$1" >"$root/$2"
}
completions bash usr/share/bash-completion/completions/traceloom
completions zsh usr/share/zsh/vendor-completions/_traceloom
completions fish usr/share/fish/vendor_completions.d/traceloom.fish

documents=$root/usr/share/doc/traceloom
install -D -m 644 "$here/../README.md" "$documents/README.md"
install -D -m 644 "$here/../CHANGELOG.md" "$documents/changelog"
gzip -9n "$documents/changelog"
{
    printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n'
    printf 'Files: *\nCopyright: the authors of traceloom\nLicense: Apache-2.0 or MIT\n\n'
    printf 'License: Apache-2.0\n On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n\n'
    printf 'License: MIT\n'
    sed 's/^$/./; s/^/ /' "$here/../LICENSE-MIT"
} >"$documents/copyright"
find "$root" -type d -exec chmod 755 {} +
find "$root/usr/share" -type f -exec chmod 644 {} +

size=$(du -sk "$root" | cut -f1)
mkdir "$root/DEBIAN"
echo /etc/traceloom/serve.toml >"$root/DEBIAN/conffiles"
cat >"$root/DEBIAN/control" <<CONTROL
Package: traceloom
Version: $version
Architecture: $architecture
Maintainer: the authors of traceloom <traceloom@localhost>
Installed-Size: $size
Depends: libc6, libgcc-s1
Section: utils
Priority: optional
Description: reads, converts, collects and draws profiler and trace data
 One program for some thirty formats of profiles and traces: what is slow, what is
 damaged, what another format cannot hold, and a collector with a web page.
CONTROL

mkdir -p "$out"
name=traceloom_${version}_$architecture
file=$(cd "$out" && pwd)/$name.cdx.json
(cd "$here" && cargo xtask sbom "$file" "$(rustc -vV | sed -n 's/^host: //p')")
dpkg-deb --root-owner-group -Z"${DEB_COMPRESSION:-xz}" --build "$root" "$out/$name.deb"
