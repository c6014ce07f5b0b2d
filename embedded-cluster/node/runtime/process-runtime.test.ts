import assert from 'node:assert/strict';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { test } from 'node:test';
import { describeInNamespace } from '../testing/in-namespace.ts';
import { runtimeWorld, until } from './testing/runtime-world.ts';

describeInNamespace(import.meta.filename, () => {
  const world = runtimeWorld();

  test('runs a command with its environment, arguments and exit code', async () => {
    const environment = new Map([
      ['PATH', '/usr/bin:/bin'],
      ['WEIRD', 'a\nb\\n "\' $(id)'],
    ]);
    const { exitCode, output } = await world.result(
      world.plan(
        ['/bin/sh', '-c', 'printf "%s|%s|%s" "$WEIRD" "$1" "$(hostname)"; exit 7', 'sh', 'x\n\ty\\'],
        {
          environment,
        },
      ),
    );
    assert.equal(output, 'a\nb\\n "\' $(id)|x\n\ty\\|vm-1');
    assert.equal(exitCode, 7);
  });

  test('passes only the requested environment', async () => {
    const { output } = await world.result(
      world.plan(['env'], {
        environment: new Map([
          ['PATH', '/usr/bin'],
          ['A', '1'],
        ]),
      }),
    );
    assert.deepEqual(output.trim().split('\n').toSorted(), ['A=1', 'PATH=/usr/bin']);
  });

  test('starts a container faster than a person notices', async (t) => {
    const times: number[] = [];
    for (let run = 0; run < 5; run += 1) {
      const begin = performance.now();
      const container = await world.start(world.plan(['sleep', '60']));
      times.push(performance.now() - begin);
      await container.kill();
    }
    t.diagnostic(`start: ${times.map((time) => time.toFixed(0)).join(', ')} ms`);
  });

  test('is the first process of its pid namespace, reaps orphans and forwards TERM', async () => {
    const container = await world.start(
      world.plan([
        '/bin/sh',
        '-c',
        '(sh -c "sleep 0.05" &) ; trap "echo got TERM; exit 3" TERM; echo up; while :; do sleep 0.05; done',
      ]),
    );
    await until(() => container.output().includes('up'));
    await until(async () => !(await processNames(container.pid)).includes('Z'));
    container.signal('SIGTERM');
    assert.deepEqual(await container.exited, { exitCode: 3 });
    assert.match(container.output(), /got TERM/);
  });

  test('kill ends every process, also those with their own session', async () => {
    const container = await world.start(
      world.plan(['/bin/sh', '-c', 'setsid sleep 1000 & setsid setsid sleep 1000 & echo up; wait']),
    );
    await until(() => container.output().includes('up'));
    const namespace = await readNamespace(container.pid);
    await container.kill();
    assert.equal((await container.exited).exitCode, 137);
    assert.deepEqual(await pidsIn(namespace), []);
  });

  test('exec runs in the container with its capabilities, input and exit code', async () => {
    const container = await world.start(world.plan(['sleep', '1000'], { workingDirectory: '/root' }));
    const process = await container.exec(
      {
        command: [
          '/bin/sh',
          '-c',
          'pwd; cat; cat /etc/hosts; grep CapEff /proc/self/status; echo e > /dev/stderr; exit 5',
        ],
        environment: new Map([['PATH', '/usr/bin:/bin']]),
      },
      { stdin: true },
    );
    process.stdin?.end('input\n');
    const [stdout, stderr] = await Promise.all([text(process.stdout), text(process.stderr)]);
    assert.match(stdout, /^\/root\ninput\n127\.0\.0\.1 localhost\nCapEff:\s00000000a80425fb\n$/);
    assert.equal(stderr, 'e\n');
    assert.deepEqual(await process.exited, { exitCode: 5 });
    await container.kill();
  });

  test('an exec ends with its container', async () => {
    const container = await world.start(world.plan(['sleep', '1000']));
    const process = await container.exec(
      { command: ['sleep', '1000'], environment: new Map([['PATH', '/usr/bin:/bin']]) },
      { stdin: false },
    );
    await container.kill();
    assert.equal((await process.exited).exitCode, 137);
  });

  test('a missing program ends with exit code 127 and a message', async () => {
    const { exitCode, output } = await world.result(world.plan(['no-such-program']));
    assert.equal(exitCode, 127);
    assert.match(output, /no-such-program/);
  });
});

async function text(stream: AsyncIterable<unknown>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) {
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString();
}

async function readNamespace(pid: number): Promise<string> {
  return readlink(`/proc/${pid}/ns/pid`);
}

async function pidsIn(namespace: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await readdir('/proc')) {
    if (/^\d+$/.test(name) && (await readNamespace(Number(name)).catch(() => '')) === namespace) {
      found.push(name);
    }
  }
  return found;
}

/** Returns the states of all processes in the pid namespace of this process. */
async function processNames(pid: number): Promise<string> {
  const pids = await pidsIn(await readNamespace(pid));
  const states = await Promise.all(
    pids.map(
      async (each) =>
        (await readFile(`/proc/${each}/stat`, 'utf8').catch(() => '')).split(') ')[1]?.[0] ?? '',
    ),
  );
  return states.join('');
}
