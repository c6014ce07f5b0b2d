import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { scratchDirectory } from '../deploy/testing/scratch.ts';
import { testEnvironment } from '../deploy/testing/test-environment.ts';
import type { TestEnvironment } from '../deploy/testing/test-environment.ts';
import { startTlsServer } from '../kubernetes/testing/tls-server.ts';

const main = join(import.meta.dirname, 'main.ts');
const secret = '}Pr0d-Passw0rd';
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Runs create-env with these flags and returns all of its output. */
async function createEnv(env: TestEnvironment, flags: readonly string[] = []): Promise<string> {
  const { manifestPath, statePath, varsStorePath = '' } = env.options;
  const files = [manifestPath, '--state', statePath, '--vars-store', varsStorePath];
  const environment = { ...env.ports.environment, BOSH_KUBERNETES_HOME: join(env.directory, 'home') };
  return new Promise((resolve) => {
    const args = [main, 'create-env', ...files, ...flags];
    execFile(process.execPath, args, { env: environment }, (_error, stdout, stderr) => {
      resolve(stdout + stderr);
    });
  });
}

async function written(env: TestEnvironment, text: string): Promise<string> {
  const path = join(env.directory, `given-${text.length}.yml`);
  await writeFile(path, text);
  return path;
}

test('a value that does not parse is not quoted, in any input', async (t) => {
  const env = await testEnvironment(t);
  for (const text of [secret, '98765432109876543210']) {
    const outputs = [
      await createEnv(env, ['-v', `admin=${text}`]),
      await createEnv(env, ['-l', await written(env, `admin: ${text}\n`)]),
      await createEnv(env, ['-o', await written(env, `- {type: replace, path: /a, value: ${text}}\n`)]),
    ];
    await writeFile(env.options.varsStorePath ?? '', `admin: ${text}\n`);
    outputs.push(await createEnv(env));
    for (const output of outputs) {
      assert.match(output, /\[(?:INVALID_ARGUMENT|MANIFEST_INVALID|VARS_STORE_INVALID)\]/u, output);
      assert.doesNotMatch(output, /Passw0rd|98765432|\n {4}at /u);
    }
  }
});

test('misplaced arguments are not quoted, because one may be the rest of a password', async (t) => {
  const env = await testEnvironment(t);
  for (const flags of [
    ['-v', 'admin=my', secret],
    [`--admin=${secret}`],
    ['-v', secret],
    ['--recreate=' + secret],
    [`-x${secret}`],
  ]) {
    const output = await createEnv(env, flags);
    assert.match(output, /Usage: create-env|needs NAME=VALUE/u, output);
    assert.doesNotMatch(output, /Passw0rd/u, output);
  }
});

test('a URL with an unencoded password or an invalid port is refused without a quote of it and without a stack', async (t) => {
  for (const authority of [
    'user:12/Passw0rd@127.0.0.1:1',
    'user:%S3Passw0rd@127.0.0.1:1',
    'user:Passw0rd@127.0.0.1:99999',
  ])
    for (const [harmless, hostile] of [
      ['url: file://tinyapp.tgz', `url: "https://${authority}/a.tgz", sha1: ${'a'.repeat(40)}`],
      [/mbus: https.*/u, `mbus: "https://${authority}"`],
    ] as const) {
      const env = await testEnvironment(t);
      await env.editManifest((text) => text.replace(harmless, hostile));
      const output = await createEnv(env);
      assert.match(
        output,
        /(?:url|mbus): is not a URL; in the user and password.*\[MANIFEST_INVALID\]/su,
        output,
      );
      assert.doesNotMatch(output, /Passw0rd|\n {4}at /u, output);
    }
});

test('messages of a CPI, an agent or a server are printed without the values of variables and the secrets of the manifest', async (t) => {
  const env = await testEnvironment(t);
  const directory = env.directory;
  const kubeconfig = join(directory, 'kubeconfig');
  await writeFile(kubeconfig, `users:\n- name: u\n  user: {token: the-t0ken-of-a-file}\n`);
  await writeFile(join(directory, 'vars-file.yml'), 'from_file: {deep: [the-value-0f-a-file]}\n');
  await env.editManifest((text) =>
    text
      .replace('mbus:secret@', 'mbus:Passw0rd%2Fmbus@')
      .replace(
        'properties: {greeting: good day}',
        'properties: {greeting: good day, admin: {password: literal-Passw0rd}, all: [((given)), ((number)), ((from_file)), ((kubeconfig))]}',
      ),
  );
  const store = await readFile(env.options.varsStorePath ?? '', 'utf8');
  const { mbus_tls: tls } = JSON.parse(store) as { mbus_tls: { private_key: string } };
  const keyLine = tls.private_key.split('\n')[1] ?? '';
  const given = [
    'Passw0rd/mbus',
    'given-Passw0rd+1',
    '31415926535',
    'the-value-0f-a-file',
    'the-t0ken-of-a-file',
    'literal-Passw0rd',
  ];
  const messages = [
    ...given,
    keyLine,
    ...given.map(base64),
    base64(tls.private_key),
    ...given.map(encodeURIComponent),
  ];
  await env.cloud.fail({ method: 'create_vm', kind: 'error', message: `no: ${messages.join(' ')}` });

  const output = await createEnv(env, [
    ...['-v', 'given=given-Passw0rd+1', '-v', 'number=31415926535'],
    ...['-l', join(directory, 'vars-file.yml'), '--var-file', `kubeconfig=${kubeconfig}`],
  ]);

  assert.match(output, /CPI 'create_vm' method responded with error: .*no: (?:<redacted> ?)+/u, output);
  const runs = [...output.matchAll(/[\w+/]{8,}/gu)].map(([run]) => Buffer.from(run, 'base64').toString());
  for (const text of [output, ...runs])
    for (const one of [...given, keyLine]) assert.ok(!text.includes(one), `${one}: ${output}`);
});

test('the last output of the processes of a failing instance is printed without the secrets of the manifest', async (t) => {
  const env = await testEnvironment(t);
  await env.editManifest((text) =>
    text
      .replace('properties: {greeting: good day}', 'properties: {greeting: good day, db: ((db_password))}')
      .replace('update_watch_time: 10-10000', 'update_watch_time: 10-20'),
  );
  env.agent.faults.startedState = 'failing';
  env.agent.faults.processes = [
    {
      name: 'db',
      state: 'failing',
      last_exit: 'exited with 4',
      output: `connecting as admin:${secret}\nrefused: ${base64(secret)}`,
    },
  ];

  const output = await createEnv(env, ['-v', `db_password='${secret}'`]);

  assert.match(output, /\[INSTANCE_NOT_RUNNING\]/u);
  assert.match(
    output,
    /Process 'db' is failing, its start program exited with 4; its programs printed last:\n/u,
  );
  assert.match(output, /connecting as admin:<redacted>\n {2}refused: <redacted>=*\n/u);
  assert.doesNotMatch(output, /Passw0rd/u);
});

/** Returns the kubeconfig of a server that quotes the Authorization header of each request. */
async function quotingServer(t: TestContext) {
  const server = await startTlsServer(({ headers }, response) => {
    const message = `no: ${headers.authorization}, ${base64(String(headers.authorization))}`;
    const status = { kind: 'Status', status: 'Failure', reason: 'Invalid', code: 422, message };
    response.writeHead(422, { 'content-type': 'application/json' }).end(JSON.stringify(status));
  });
  t.after(() => server.close());
  const { server: url, ca = '', certificate = '', key = '' } = server.access;
  const directory = await scratchDirectory(t);
  const pair = { 'client-certificate-data': base64(certificate), 'client-key-data': base64(key) };
  /** Returns the output of a command with this user. */
  const run = async (command: string, user: object): Promise<string> => {
    const kubeconfig = join(directory, 'kubeconfig');
    await writeFile(
      kubeconfig,
      JSON.stringify({
        'current-context': 'c',
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
        clusters: [{ name: 'c', cluster: { server: url, 'certificate-authority-data': base64(ca) } }],
        users: [{ name: 'u', user }],
      }),
    );
    const env = { PATH: process.env['PATH'], BOSH_KUBERNETES_HOME: join(directory, 'home') };
    const args = [main, command, '--kubeconfig', kubeconfig];
    return new Promise((resolve) => {
      execFile(process.execPath, args, { env }, (_error, stdout, stderr) => resolve(stdout + stderr));
    });
  };
  /** Returns a user with an exec plugin that runs the script. */
  const plugin = async (script: string, given: object = {}): Promise<object> => {
    const command = join(directory, 'plugin');
    await writeFile(command, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return {
      exec: {
        ...{ apiVersion: 'client.authentication.k8s.io/v1', interactiveMode: 'Never' },
        ...{ command, ...given },
      },
    };
  };
  return { directory, pair, run, plugin };
}

test('a token that an API server quotes is cut out, whatever its source in the kubeconfig', async (t) => {
  const { directory, pair, run, plugin } = await quotingServer(t);
  const tokenFile = join(directory, 'token');
  await writeFile(tokenFile, 'the-t0ken-Passw0rd\n');
  const credential = {
    ...{ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential' },
    status: {
      token: 'plugin-t0ken-Passw0rd',
      clientCertificateData: Buffer.from(pair['client-certificate-data'], 'base64').toString(),
      clientKeyData: Buffer.from(pair['client-key-data'], 'base64').toString(),
    },
  };
  const users = [
    { ...pair, token: 't0ken-Passw0rd' },
    { ...pair, tokenFile },
    await plugin(`cat <<'E'\n${JSON.stringify(credential)}\nE`),
  ];
  for (const user of users)
    for (const command of ['status', 'orphans']) {
      const output = await run(command, user);
      assert.match(output, /Kubernetes answered 422 Invalid: no: Bearer <redacted>, .*<redacted>/u);
      assert.doesNotMatch(output, /Passw0rd|UGFzc3cwcm/u);
    }
});

test('arguments and variables that a failing exec plugin quotes are cut out', async (t) => {
  const { run, plugin } = await quotingServer(t);
  const user = await plugin('echo "bad: $* $VARIABLE" >&2; exit 1', {
    args: ['--client-secret', 'args-Passw0rd', '--other=part-Passw0rd'],
    env: [{ name: 'VARIABLE', value: 'env-Passw0rd' }],
  });
  for (const command of ['status', 'orphans']) {
    const output = await run(command, user);
    assert.match(output, /it said: bad: .*<redacted>/u);
    assert.doesNotMatch(output, /Passw0rd/u);
  }
});
