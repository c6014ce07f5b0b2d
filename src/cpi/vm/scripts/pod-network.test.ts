import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { podNetwork } from './pod-network.ts';

const run = promisify(execFile);
const namespaces = ['--user', '--map-root-user', '--net', '--mount'];
const env = { ...process.env, PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };
const programs = { ip: 'iproute2', 'iptables-legacy': 'iptables', nft: 'nftables' };

function missing(): string | false {
  for (const [program, name] of Object.entries(programs))
    if (spawnSync(program, ['-V'], { env }).error !== undefined) return `needs Debian's package ${name}`;
  const words = [
    ...namespaces,
    'sh',
    '-c',
    'iptables-legacy -L -n && ip link add one type veth peer name two',
  ];
  return (
    spawnSync('unshare', words, { env }).status !== 0 && 'needs packet filters in user and network namespaces'
  );
}
const skip = missing();

/** Makes what the pod's network plug-in and an init container of a mesh make before the VM runs. */
const pod = `ip link set lo up
ip link add eth0 type veth peer name host0
ip address add 10.1.0.5/24 dev eth0
ip address add fd00::5/64 dev eth0 nodad
ip link set eth0 up
ip link set host0 up
ip route add 169.254.1.1 dev eth0 scope link
ip route add default via 169.254.1.1 dev eth0
ip -6 route add default via fd00::1 dev eth0
iptables-legacy -t nat -N MESH
iptables-legacy -t nat -A PREROUTING -p tcp -j MESH
iptables-legacy -t nat -A MESH -p tcp -m comment --comment "two words" -j REDIRECT --to-ports 15006
iptables-nft -A INPUT -p tcp --dport 99 -j DROP
nft -f - <<RULES
table inet mesh {
  set known { type ipv4_addr; elements = { 1.2.3.4, 1.2.3.5 } }
  chain in { type filter hook input priority 0; ip saddr @known counter drop; }
}
RULES
until [ -z "$(ip address show tentative)" ]; do sleep 0.1; done
`;

/** Makes what jobs may make, one object of each kind, and removes what they may remove. */
const jobs = `iptables-legacy -t nat -I PREROUTING -p tcp -j DNAT --to 1.1.1.1
iptables-legacy -t nat -F MESH
iptables-legacy -t mangle -N APP
iptables-legacy -t mangle -A INPUT -j APP
iptables-legacy -P FORWARD DROP
ip6tables-legacy -A INPUT -j DROP
iptables-nft -t nat -N APP
iptables-nft -t nat -A OUTPUT -j APP
iptables-nft -F INPUT
nft delete table inet mesh
nft add table inet agent
ip link add br0 type bridge
ip address add 10.254.0.1/16 dev br0
ip link set br0 up
ip link set eth0 mtu 1400
tc qdisc add dev eth0 root handle 7: tbf rate 1mbit burst 32kbit latency 400ms
tc qdisc add dev eth0 ingress
ip address add 169.254.0.2/32 dev lo
ip address delete 10.1.0.5/24 dev eth0
ip address add 10.1.0.9/24 dev eth0
ip route add 10.99.0.0/16 via 10.1.0.1
ip route add blackhole 10.98.0.0/16
ip route add local 10.97.0.0/16 dev lo
ip route add 10.96.0.0/16 dev eth0 table 77
ip rule add fwmark 7 lookup 77
ip -6 rule add from fd00::7 lookup 77
echo 1 > /proc/sys/net/ipv4/ip_forward
echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
echo 77 > /proc/sys/net/ipv4/tcp_keepalive_time
echo '2000 3000' > /proc/sys/net/ipv4/ip_local_port_range
`;

/**
 * Prints the whole state of the network namespace; of packet filters only the rules, and the chains of tables
 * that have rules.
 */
const seen = `see() {
  for tool in iptables-legacy ip6tables-legacy iptables-nft ip6tables-nft; do
    "$tool-save" | sed -n "/^-/p; s/^\\\\(:.*\\\\) \\\\[.*/$tool \\\\1/p" | grep -v ' ACCEPT$'
  done
  nft list tables | grep -v ' ip6* '
  nft -s list table inet mesh
  for part in sysctls links queues addresses routes rules; do "network_$part"; done | grep -v ' local fe80::' # of the kernel
}
`;

async function inPod(t: TestContext, script: string): Promise<string> {
  const bosh = await mkdtemp(join(tmpdir(), 'pod-network-'));
  t.after(() => rm(bosh, { recursive: true }));
  const start = `set -u\nbosh=${bosh}\nsay() { echo "$*"; }\n${podNetwork}${seen}`;
  const words = [...namespaces, 'sh', '-c', `${start}${script}`];
  const { stdout } = await run('unshare', words, { env, maxBuffer: 2 ** 24 });
  return stdout;
}

/** Returns the lines that only one of both texts has. */
function changes(before = '', after = ''): string[] {
  const [former, later] = [before.split('\n'), after.split('\n')];
  return [
    ...former.filter((line) => !later.includes(line)).map((line) => `- ${line}`),
    ...later.filter((line) => !former.includes(line)).map((line) => `+ ${line}`),
  ];
}

const mark = '--- then\n';

test(
  "what jobs made in the pod's network is gone at the next start; what was there before is as it was",
  { skip },
  async (t) => {
    const next = `echo '${mark.trim()}'; see`;
    const output = await inPod(
      t,
      `${pod}see\nkeep_network || exit 1\n${next}\n${jobs}${next}\nkeep_network || exit 1\n${next}\nkeep_network\n${next}`,
    );
    const [before, recorded, changed, after, again] = output.split(mark);
    assert.match(`${before}`, /MESH[^]*known[^]*ip_forward:0[^]*169\.254\.1\.1/u);
    assert.deepEqual(changes(before, recorded), []);
    assert.match(`${changed}`, /DNAT[^]*ip_forward:1[^]*br0[^]*10\.99\.0\.0/u);
    assert.deepEqual(changes(before, after), []);
    assert.deepEqual(changes(before, again), []);
  },
);

test(
  'without the right to change the network nothing is recorded, and nothing is touched',
  { skip },
  async (t) => {
    const bosh = await mkdtemp(join(tmpdir(), 'pod-network-'));
    t.after(() => rm(bosh, { recursive: true }));
    // a network namespace of another user namespace, like those of the embedded node's pods
    const foreign = `${pod}exec unshare --user --map-root-user sh -c "$1"`;
    const keep = `bosh=${bosh}\n${podNetwork}keep_network\n`;
    await run('unshare', [...namespaces, 'sh', '-c', foreign, 'sh', keep], { env });
    assert.deepEqual(await readdir(bosh), []);
  },
);
