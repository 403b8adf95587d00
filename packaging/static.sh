#!/bin/sh
# Builds a program that needs no library of the machine it runs on: static.sh FOLDER writes traceloom-VERSION-x86_64-linux-static to the folder.
# Needs rustup's target x86_64-unknown-linux-musl, and musl-gcc (Debian's musl-tools) for what is written in C.
set -eu

mkdir -p "$1"
out=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
target=x86_64-unknown-linux-musl
# TRACELOOM_PROFILE names another profile of Cargo.toml than the one for users.
profile=${TRACELOOM_PROFILE:-release}

# The compiler for what ring and zstd have in C.
CC_x86_64_unknown_linux_musl=${CC_x86_64_unknown_linux_musl:-musl-gcc}
export CC_x86_64_unknown_linux_musl
cd "$here/.."
cargo build --profile "$profile" --locked --target "$target" --bin traceloom

program=${CARGO_TARGET_DIR:-target}/$target/$profile/traceloom
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
install -m 755 "$program" "$out/traceloom-$version-x86_64-linux-static"
# The crates that it is made of, as CycloneDX.
cargo xtask sbom "$out/traceloom-$version-x86_64-linux-static.cdx.json" "$target"
