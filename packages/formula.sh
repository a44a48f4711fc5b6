#!/usr/bin/env bash
# Writes the Homebrew formula for the archives in a folder.
# Usage: packages/formula.sh FOLDER RELEASES
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
folder=$1 releases=$2

# source_of SYSTEM CPU PLATFORM: prints the part of the formula for an archive.
source_of() {
  local archive=recollect-$3.tar.gz digest
  [[ -f $folder/$archive ]] || fail "$folder has no $archive"
  digest=$(sha256sum <"$folder/$archive" | cut -d ' ' -f 1)
  cat <<RUBY
  on_$1 do
    on_$2 do
      url "$releases/download/v$version/$archive"
      sha256 "$digest"
    end
  end
RUBY
}

# A failure in the text below would not end the script.
sources=$(source_of macos arm macos-arm64)
sources+=$'\n'$(source_of macos intel macos-x86_64)
sources+=$'\n'$(source_of linux arm linux-arm64)
sources+=$'\n'$(source_of linux intel linux-x86_64)

cat >"$folder/recollect.rb" <<RUBY
class Recollect < Formula
  desc "Memory and document service for AI agents"
  homepage "${releases%/releases}"
  version "$version"
  license "Apache-2.0"

$sources

  def install
    bin.install "recollect"
    man1.install "man/recollect.1"
    bash_completion.install "completions/recollect.bash" => "recollect"
    zsh_completion.install "completions/recollect.zsh" => "_recollect"
    fish_completion.install "completions/recollect.fish"
  end

  service do
    run [opt_bin/"recollect", "serve", "--data", var/"recollect"]
    keep_alive true
  end

  test do
    system bin/"recollect", "add", "--data", testpath/"data", "--text", "Ada lives in Porto."
    assert_match "Porto", shell_output("#{bin}/recollect search --data #{testpath}/data Porto")
  end
end
RUBY
