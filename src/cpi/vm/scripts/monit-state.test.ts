import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { monitState } from './entry.ts';

const run = promisify(execFile);
const namespaces = [
  '--user',
  '--map-root-user',
  '--mount',
  '--pid',
  '--fork',
  '--kill-child',
  '--mount-proc',
];
const { BOSH_MONIT: monit = '' } = process.env;

/** Returns a port of the loopback that was free a moment ago: monit cannot report which one it took. */
async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return String(port);
}

/**
 * Runs a container with the monitrc of a stock stemcell and two jobs. It stops one job, then the container is
 * killed and started again; what is not on the state volume is lost. The output is which jobs were started.
 * monit reads a state file only if the file is a second older than its own start.
 */
const twoLives = `set -eu
monit="$1 -c /var/vcap/bosh/etc/monitrc"
${monitState}
own() { mount -t tmpfs none /root; mount -t tmpfs none /run; keep_monit_state; }
jobs="one two"
status() { $monit summary 2>/dev/null | tr -s ' ' | grep -qxF "Process '$1' $2" || return 1; }
await() { until status "$1" "$2"; do sleep 0.1; done; }
mount -t tmpfs none /var
ln -s /run /var/run
mkdir -p /var/vcap/monit/job /var/vcap/bosh/etc /var/vcap/data
: > /var/vcap/monit/empty.monitrc
echo vcap:secret > /var/vcap/monit/monit.user
cat > /var/vcap/bosh/etc/monitrc <<RC
set daemon 1
set logfile /var/vcap/monit/monit.log
set httpd port $2 and use address 127.0.0.1
  allow cleartext /var/vcap/monit/monit.user
include /var/vcap/monit/*.monitrc
include /var/vcap/monit/job/*.monitrc
RC
chmod 700 /var/vcap/bosh/etc/monitrc
chmod 600 /var/vcap/monit/monit.user
cat > /var/vcap/ctl <<'CTL'
#!/bin/sh
case $1 in
  start) setsid sleep 1000 > /dev/null 2>&1 & echo $! > /var/vcap/data/$2.pid; echo "$2 starts" >> /var/vcap/said ;;
  stop) kill $(cat /var/vcap/data/$2.pid) ;;
esac
CTL
chmod 755 /var/vcap/ctl
for job in $jobs; do
  echo "check process $job with pidfile /var/vcap/data/$job.pid
    start program \\"/var/vcap/ctl start $job\\"
    stop program \\"/var/vcap/ctl stop $job\\"
    group vcap" > /var/vcap/monit/job/0000_$job.monitrc
done
export HOME=/root
own
$monit -I > /dev/null 2>&1 &
for job in $jobs; do await $job running; done
$monit stop one
await one 'not monitored'
# a cycle has ended since then
written=$(stat -c %Y /var/vcap/monit/monit.state)
until [ "$(stat -c %Y /var/vcap/monit/monit.state)" -gt "$written" ]; do sleep 0.1; done
kill -KILL $!
kill -KILL $(cat /var/vcap/data/two.pid)
rm /var/vcap/data/*.pid
until [ "$(date +%s)" -gt "$(stat -c %Z /var/vcap/monit/monit.state)" ]; do sleep 0.1; done
echo 'the container starts again' >> /var/vcap/said
own
$monit -I > /dev/null 2>&1 &
await two running
until status one 'not monitored' || status one running; do sleep 0.1; done
cat /var/vcap/said
kill -KILL $!
`;

test(
  'monit 5.2.5 does not start a job that was stopped before its container was killed',
  { skip: monit === '' && 'needs monit 5.2.5: BOSH_MONIT=<path>', timeout: 60_000 },
  async (t) => {
    const probe = spawnSync('unshare', [...namespaces, 'mount', '-t', 'tmpfs', 'none', '/mnt']);
    if (probe.status !== 0) return t.skip(`needs user, mount and pid namespaces: ${probe.stderr.toString()}`);
    const { stdout } = await run('unshare', [
      ...namespaces,
      ...['/bin/sh', '-c', twoLives, 'container', resolve(monit), await freePort()],
    ]);
    const [before = '', after] = stdout.split('the container starts again\n');
    assert.deepEqual(before.trim().split('\n').toSorted(), ['one starts', 'two starts']);
    assert.equal(after, 'two starts\n');
  },
);
