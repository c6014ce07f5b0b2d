import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readlinkSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { addressAnnotation, annotationsCapability } from './plugin/requested-addresses.ts';
import {
  buildExecutable,
  executableIsMissing,
  runExecutable,
  type BuiltExecutable,
  type ProcessOutcome,
} from './testing/executable.ts';

const plugins = '/usr/lib/cni';

function whatIsMissing(): string | false {
  if (executableIsMissing !== false) return executableIsMissing;
  if (!existsSync(join(plugins, 'bridge')))
    return `needs ${plugins}/bridge: apt-get install containernetworking-plugins`;
  const made = spawnSync('unshare', ['--net', 'ip', 'link', 'add', 'br0', 'type', 'bridge']);
  return made.status !== 0 && 'needs root, ip (apt-get install iproute2) and a kernel with bridges';
}

describe("in front of Debian's bridge and ptp with host-local", { skip: whatIsMissing() }, () => {
  let built: BuiltExecutable;
  let scratch: string;
  /** Processes whose network namespaces are those of the node and the pods. */
  const namespaceProcesses = new Map<string, ChildProcess>();

  before(async () => {
    built = await buildExecutable();
    scratch = await mkdtemp(join(tmpdir(), 'static-ip-bridge-'));
    for (const name of ['node', 'one', 'two']) namespaceProcesses.set(name, await holdNamespace());
  });
  after(async () => {
    for (const child of namespaceProcesses.values()) {
      const ended = once(child, 'close');
      child.kill('SIGKILL');
      await ended;
    }
    await built.remove();
    await rm(scratch, { recursive: true, force: true });
  });

  const namespaceOf = (name: string): string => `/proc/${namespaceProcesses.get(name)?.pid ?? 0}/ns/net`;

  const config = (address: string | undefined, prevResult?: unknown, type = 'bridge'): string =>
    JSON.stringify({
      cniVersion: '1.0.0',
      name: 'pods',
      type: 'static-ip',
      namespaces: ['*'],
      runtimeConfig: {
        [annotationsCapability]: address === undefined ? {} : { [addressAnnotation]: address },
      },
      ...(prevResult !== undefined && { prevResult }),
      delegate: {
        type,
        ...(type === 'bridge' && { bridge: 'cni0' }),
        ipam: {
          type: 'host-local',
          dataDir: join(scratch, `store-${type}`),
          ranges: [
            [{ subnet: '10.88.0.0/16', rangeStart: '10.88.128.0' }],
            [{ subnet: 'fd00::/64', rangeStart: 'fd00::1:0' }],
          ],
        },
      },
    });

  /** Calls the plugin in the node's namespace. */
  const run = (verb: string, pod: string, input: string): Promise<ProcessOutcome> =>
    runExecutable('/usr/bin/nsenter', {
      args: [`--net=${namespaceOf('node')}`, built.path],
      environment: {
        CNI_COMMAND: verb,
        CNI_CONTAINERID: pod,
        CNI_NETNS: namespaceOf(pod),
        CNI_IFNAME: 'eth0',
        CNI_PATH: plugins,
        PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
      },
      input,
    });

  function ip(namespace: string, ...args: readonly string[]): unknown[] {
    const { stdout } = spawnSync('nsenter', [`--net=${namespaceOf(namespace)}`, 'ip', '-json', ...args], {
      encoding: 'utf8',
    });
    return stdout.trim() === '' ? [] : (JSON.parse(stdout) as unknown[]);
  }

  function addressesOf(pod: string): readonly string[] {
    const links = ip(pod, 'address', 'show', 'dev', 'eth0', 'scope', 'global') as {
      addr_info?: { local: string }[];
    }[];
    return links.flatMap(({ addr_info: infos = [] }) => infos.flatMap(({ local }) => local ?? []));
  }

  test('a pod has the addresses that it requests until it is deleted', async () => {
    const added = await run('ADD', 'one', config('10.88.0.7,fd00::7'));
    assert.equal(added.code, 0, added.stdout);
    assert.deepEqual(addressesOf('one'), ['10.88.0.7', 'fd00::7']);
    const prevResult: unknown = JSON.parse(added.stdout);
    const checked = await run('CHECK', 'one', config('10.88.0.7,fd00::7', prevResult));
    assert.deepEqual(checked, { stdout: '', stderr: '', code: 0 });

    const taken = await run('ADD', 'two', config('10.88.0.7'));
    assert.equal(taken.code, 1);
    assert.match(taken.stdout, /'bridge' did not give the fixed address 10\.88\.0\.7: .*not available/u);
    // as a runtime does after a failed ADD; the reservation of the first pod stays
    assert.equal((await run('DEL', 'two', config('10.88.0.7'))).code, 0);
    assert.deepEqual(ip('two', 'link', 'show', 'eth0'), []);
    assert.equal((await run('ADD', 'two', config('10.88.0.7'))).code, 1);
    await run('DEL', 'two', config('10.88.0.7'));

    for (let times = 0; times < 2; times += 1)
      assert.equal((await run('DEL', 'one', config(undefined))).code, 0);
    assert.deepEqual(ip('one', 'link', 'show', 'eth0'), []);
    assert.deepEqual(ip('node', 'link', 'show', 'type', 'veth'), []);
    assert.equal((await run('ADD', 'two', config('10.88.0.7'))).code, 0);
    assert.equal(addressesOf('two')[0], '10.88.0.7');
    await run('DEL', 'two', config(undefined));
  });

  test('the same with ptp', async () => {
    const call = (pod: string, verb = 'ADD', prevResult?: unknown): Promise<ProcessOutcome> =>
      run(verb, pod, config('10.88.0.7,fd00::7', prevResult, 'ptp'));
    const added = await call('one');
    assert.equal(added.code, 0, added.stdout);
    assert.deepEqual(addressesOf('one'), ['10.88.0.7', 'fd00::7']);
    const checked = await call('one', 'CHECK', JSON.parse(added.stdout));
    assert.deepEqual(checked, { stdout: '', stderr: '', code: 0 });
    const taken = await call('two');
    assert.match(
      taken.stdout,
      /'ptp' did not give the fixed address 10\.88\.0\.7 and fd00::7: .*not available/u,
    );
    for (const pod of ['two', 'one', 'one']) assert.equal((await call(pod, 'DEL')).code, 0);
    assert.deepEqual(ip('node', 'link', 'show', 'type', 'veth'), []);
    assert.equal((await call('two')).code, 0);
    assert.deepEqual(addressesOf('two'), ['10.88.0.7', 'fd00::7']);
    await call('two', 'DEL');
  });

  test('a recreated pod has the hardware address that its neighbours know', async () => {
    const seen: unknown[] = [];
    for (const pod of ['one', 'two']) {
      for (const address of ['10.88.0.7', 'fd00::7']) {
        assert.equal((await run('ADD', pod, config(address))).code, 0);
        const [link] = ip(pod, 'link', 'show', 'dev', 'eth0') as { address: string }[];
        seen.push(link?.address);
        await run('DEL', pod, config(address));
      }
    }
    const [ofIpv4, ofIpv6, ...again] = seen;
    assert.equal(ofIpv4, '0a:58:0a:58:00:07');
    assert.deepEqual(again, [ofIpv4, ofIpv6]);
  });

  test('an IPAM plugin that takes no requests is reported as docs/static-ip.md says', async () => {
    const subnet = '10.88.0.0/16';
    const split = [
      [{ subnet, rangeStart: '10.88.128.0', rangeEnd: '10.88.191.255' }],
      [{ subnet, rangeStart: '10.88.192.0' }],
    ];
    const hostLocal = { type: 'host-local', dataDir: join(scratch, 'store-unable') };
    for (const [ipam, message] of [
      [{ type: 'static' }, /"code":999,.* is NOT in CIDR notation/u],
      [{ ...hostLocal, subnet: 'usePodCidr' }, /"code":7,.*not lists of ranges, each with a subnet/u],
      [{ ...hostLocal, ranges: split }, /"code":999,.*range set 0 overlaps with 1/u],
    ] as const) {
      const whole = JSON.parse(config('10.88.0.7')) as { delegate: object };
      const input = JSON.stringify({ ...whole, delegate: { ...whole.delegate, ipam } });
      const { code, stdout } = await run('ADD', 'one', input);
      assert.equal(code, 1);
      assert.match(stdout, message);
      await run('DEL', 'one', input);
      assert.deepEqual(ip('one', 'link', 'show', 'eth0'), []);
    }
  });

  test('a pod that requests no address gets one of the range', async () => {
    assert.equal((await run('ADD', 'one', config(undefined))).code, 0);
    assert.match(addressesOf('one')[0] ?? '', /^10\.88\.(1[2-9]|2)\d+\./u);
    await run('DEL', 'one', config(undefined));
  });
});

/** Resolves when the process is in its own network namespace. */
async function holdNamespace(): Promise<ChildProcess> {
  const child = spawn(
    'unshare',
    ['--net', 'sh', '-c', 'ip link set lo up && echo ready && exec sleep infinity'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  await once(child.stdout, 'data');
  assert.notEqual(readlinkSync(`/proc/${child.pid ?? 0}/ns/net`), readlinkSync('/proc/self/ns/net'));
  return child;
}
