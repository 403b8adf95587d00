#!/bin/sh
# Builds a program for Windows: windows.sh FOLDER writes traceloom-VERSION-x86_64-windows.exe to the folder.
# Needs rustup's target x86_64-pc-windows-gnu, and MinGW (Debian's gcc-mingw-w64-x86-64) for what is written in C and for linking.
# It has every command but those of the collector: docs/guide/platform.md.
set -eu

mkdir -p "$1"
out=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
target=x86_64-pc-windows-gnu
# TRACELOOM_PROFILE names another profile of Cargo.toml than the one for users.
profile=${TRACELOOM_PROFILE:-release}

cd "$here/.."
cargo build --profile "$profile" --locked --target "$target" --bin traceloom

program=${CARGO_TARGET_DIR:-target}/$target/$profile/traceloom.exe
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
install -m 755 "$program" "$out/traceloom-$version-x86_64-windows.exe"
# The crates that it is made of, as CycloneDX.
cargo xtask sbom "$out/traceloom-$version-x86_64-windows.cdx.json" "$target"
