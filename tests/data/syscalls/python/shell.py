"""The shell and its tools, in one script, as a coding agent uses them."""

import os
import subprocess

SCRIPT = r"""
set -eu
mkdir -p work/sub && cd work
printf 'b 2\na 1\nc 3\n' > table; cat table | sort | uniq -c > sorted
awk '{ s += $2; print $1, s | "cat" } END { print s > "/dev/stderr" }' table
sed -i 's/a/z/' table; sed -n '1,2p' table; grep -rn z . ; grep -c . table; grep -E '^(b|z)' table
find . -type f -name 't*' -exec ls -la {} + ; find . -newer table -print0 | xargs -0 -r ls -d
cp table copy; cp -a sub sub2; cp -r sub2 sub3; mv copy moved; ln -s table link; ln table hard; readlink link; realpath link
tar -czf all.tar.gz table link sub; mkdir out; tar -xzf all.tar.gz -C out; tar -tf all.tar.gz
gzip -c table > table.gz; gunzip -c table.gz | cmp - table; diff -u table moved || true
head -n 1 table; tail -n 1 table; wc -l table; cut -d' ' -f1 table; tr a-z A-Z < table; tee one < table > two; nl table
chmod 600 table; touch -d '2020-01-01' table; stat table; date -u +%Y; ls -lR . > /dev/null; du -s .; df . ; basename /a/b
rm -rf sub3; test -f table && echo yes; [ -d sub ]; expr 1 + 2; seq 3; sleep 0.01; env | wc -l; id -u; uname -s; pwd
x=$(echo sub shell); echo "$x" | { read -r y; echo "$y"; }
(exit 3) || echo $?; trap 'echo bye' EXIT; for i in 1 2 3; do echo $i; done > loop; while read -r l; do :; done < loop
sleep 5 & kill $!; wait $! || true
cat <<END
here $x
END
timeout 5 true; nice true 2>/dev/null || true; mktemp; dd if=table of=dd.out bs=1 count=2 2>/dev/null; od -c dd.out; split -l 1 table
mkfifo pipe; (echo through > pipe &) ; cat pipe; sync table || true; truncate -s 10 dd.out; paste table table; join table table
md5sum table; sha256sum table; base64 table; comm table table; fold -w 2 table; sort -R table >/dev/null; shuf table > /dev/null
"""
BASH = r"""
set -euo pipefail
a=(1 2 3); echo "${a[@]}" "${#a[@]}"; diff <(echo 1) <(echo 1); cat <<< here; declare -A m; m[x]=1; printf '%(%Y)T\n' -1
time true; coproc cat; echo hi >&"${COPROC[1]}"; read -r line <&"${COPROC[0]}"; [[ $line == h* ]]; ulimit -n; jobs; echo $RANDOM
mapfile -t lines < /etc/passwd; echo $((2 ** 10)); shopt -s globstar; ls **/ >/dev/null; exec 5>fd; echo x >&5; exec 5>&-
"""
environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TMPDIR": os.getcwd()}
for shell, script in (("sh", SCRIPT), ("bash", SCRIPT.replace("work", "more")), ("bash", BASH)):
    done = subprocess.run([shell, "-c", script], env=environment, capture_output=True, timeout=60)
    assert done.returncode == 0, (shell, done.stdout[-300:], done.stderr)
assert subprocess.check_output("echo $((1+1)) | cat", shell=True, env=environment) == b"2\n"
assert os.system("exit 3") >> 8 == 3
assert os.popen("echo popen").read() == "popen\n"
