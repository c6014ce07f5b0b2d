import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAgent, task, type Handler } from './testing/fake-agent.ts';

test("a ping is one request with the director's UUID in it", async (t) => {
  const agent = await startAgent(t);
  await agent.client().ping();
  assert.deepEqual(agent.calls, [{ method: 'ping', arguments: [], reply_to: 'director' }]);
});

test('each verb sends the method and arguments of bosh', async (t) => {
  const answers: Readonly<Record<string, unknown>> = {
    start: 'started',
    drain: 3,
    list_disk: ['d-1'],
    get_state: {
      agent_id: 'a-1',
      job_state: 'running',
      networks: { default: { ip: '10.0.0.5' }, other: {} },
    },
    compile_package: { result: { blobstore_id: 'c-1', sha1: 'sha256:00' } },
    ssh: { command: 'setup', status: 'success', ip: '10.0.0.5', host_public_key: 'ssh-rsa AAAA' },
    bundle_logs: { logs_tar_path: '/var/vcap/data/tmp/x.tgz', sha512: `sha512:${'0'.repeat(128)}` },
  };
  const agent = await startAgent(t, ({ method }) => answers[method] ?? 'done');
  const client = agent.client();
  const blob = (name: string): { name: string; version: string; sha1: string; blobstoreId: string } => ({
    name,
    version: `${name}-v`,
    sha1: `${name}-s`,
    blobstoreId: `${name}-b`,
  });
  await client.apply({ a: 1 });
  await client.start();
  await client.stop();
  await client.runScript('pre-start');
  assert.equal(await client.drain(), 3);
  assert.deepEqual(await client.listDisks(), ['d-1']);
  await client.addPersistentDisk('d-1', { path: '/x' });
  await client.removePersistentDisk('d-1');
  await client.mountDisk('d-1');
  await client.unmountDisk('d-1');
  await client.migrateDisk();
  assert.deepEqual(await client.getState(), {
    agentId: 'a-1',
    jobState: 'running',
    addresses: { default: '10.0.0.5', other: undefined },
    failedProcesses: [],
  });
  assert.deepEqual(await client.compilePackage(blob('p'), [blob('q')]), {
    blobstoreId: 'c-1',
    sha1: 'sha256:00',
  });
  assert.deepEqual(await client.setUpSsh('bosh_1', 'ssh-rsa BBBB'), {
    address: '10.0.0.5',
    hostKey: 'ssh-rsa AAAA',
  });
  assert.deepEqual(await client.bundleLogs('bosh_1', ['job', 'agent'], ['**/*.log']), {
    path: '/var/vcap/data/tmp/x.tgz',
    sha512: '0'.repeat(128),
  });
  await client.removeFile('/var/vcap/data/tmp/x.tgz');
  await client.cleanUpSsh('bosh_1');
  assert.deepEqual(
    agent.calls.map((call) => [call.method, ...call.arguments]),
    [
      ['apply', { a: 1 }],
      ['start'],
      ['stop'],
      ['run_script', 'pre-start', { env: {} }],
      ['drain', 'shutdown', {}],
      ['list_disk'],
      ['add_persistent_disk', 'd-1', { path: '/x' }],
      ['remove_persistent_disk', 'd-1'],
      ['mount_disk', 'd-1'],
      ['unmount_disk', 'd-1'],
      ['migrate_disk'],
      ['get_state'],
      [
        'compile_package',
        'p-b',
        'p-s',
        'p',
        'p-v',
        { q: { name: 'q', version: 'q-v', sha1: 'q-s', blobstore_id: 'q-b' } },
      ],
      ['ssh', 'setup', { user: 'bosh_1', public_key: 'ssh-rsa BBBB' }],
      ['bundle_logs', { owning_user: 'bosh_1', log_type: 'job,agent', filters: ['**/*.log'] }],
      ['remove_file', '/var/vcap/data/tmp/x.tgz'],
      ['ssh', 'cleanup', { user_regex: '^bosh_1' }],
    ],
  );
});

test('a task is polled at once, then at growing intervals of up to a second', async (t) => {
  const agent = await startAgent(t, task(9, 'applied'));
  await agent.client().apply({});
  assert.deepEqual(agent.slept, [20, 40, 80, 160, 320, 640, 1000, 1000, 1000]);
  assert.ok(
    agent.calls.slice(1).every(({ method, arguments: [id] }) => method === 'get_task' && id === 't-1'),
  );
});

test('ten lost polls are tolerated, and the eleventh is an error', async (t) => {
  const lose = (count: number): Handler => {
    let remaining = count;
    return ({ method }) => {
      if (method !== 'get_task') return { agent_task_id: 't-1', state: 'running' };
      remaining -= 1;
      return remaining >= 0 ? 'drop' : 'stopped';
    };
  };
  const agent = await startAgent(t, lose(10));
  await agent.client().stop();
  agent.handle = lose(11);
  await assert.rejects(agent.client().stop(), { code: 'AGENT_UNREACHABLE' });
});

test('get_state is sent again when the connection is lost', async (t) => {
  let remaining = 3;
  const agent = await startAgent(t, () => (remaining-- > 0 ? 'drop' : { job_state: 'failing' }));
  assert.equal((await agent.client().getState()).jobState, 'failing');
  assert.deepEqual(agent.slept, [1000, 1000, 1000]);
});

test("the agent's message about a failure is part of the error", async (t) => {
  const agent = await startAgent(t, () => {
    throw new Error('Running pre-stop: exit status 1');
  });
  await assert.rejects(agent.client().stop(), {
    code: 'AGENT_ERROR',
    message:
      /^The agent at https:\/\/127\.0\.0\.1:\d+ answered 'stop' with an error: Running pre-stop: exit status 1$/,
  });
});

test('an agent that lacks a newer method is tolerated', async (t) => {
  const agent = await startAgent(t, ({ method }) => {
    throw new Error(`unknown message ${method}`);
  });
  const client = agent.client();
  await client.runScript('post-start');
  await client.addPersistentDisk('d', 'hint');
  await client.removePersistentDisk('d');
  await assert.rejects(client.mountDisk('d'), { code: 'AGENT_ERROR' });
});

test('a response of another shape is an error', async (t) => {
  const agent = await startAgent(t, () => () => 'not JSON');
  const client = agent.client();
  await assert.rejects(client.ping(), { code: 'AGENT_ERROR', message: /not a JSON object/ });
  agent.handle = () => 'other';
  const calls = [
    () => client.ping(),
    () => client.start(),
    () => client.drain(),
    () => client.listDisks(),
    () => client.getState(),
  ];
  for (const call of calls)
    await assert.rejects(call, { code: 'AGENT_ERROR', message: /the response is not/ });
  await assert.rejects(client.compilePackage({ name: 'p', version: '', sha1: '', blobstoreId: '' }, []), {
    code: 'AGENT_ERROR',
  });
});

test('an agent that does not listen is AGENT_UNREACHABLE', async (t) => {
  const agent = await startAgent(t);
  await assert.rejects(agent.client({ mbusUrl: 'https://a:b@127.0.0.1:1' }).ping(), {
    code: 'AGENT_UNREACHABLE',
    message: /https:\/\/127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED/,
  });
});

test('an interrupt ends a wait', async (t) => {
  const agent = await startAgent(t, task(1_000_000, ''));
  const controller = new AbortController();
  const clock = {
    sleep: async (): Promise<void> => {
      if (agent.calls.length > 3) controller.abort();
    },
  };
  await assert.rejects(agent.client({ signal: controller.signal, clock }).stop(), { code: 'INTERRUPTED' });
});
