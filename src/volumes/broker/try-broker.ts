import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeTree } from '../../platform/remove-tree.ts';
import type { BrokerConfig } from './config.ts';
import { nfsOffering } from './offerings/nfs.ts';
import { smbOffering } from './offerings/smb.ts';
import type { CommandIo } from './run-ports.ts';
import { untilAborted } from './run-ports.ts';
import { startBroker } from './start-broker.ts';

/** One request of the demo, as Cloud Controller sends it, and the expected status. */
interface Step {
  readonly title: string;
  readonly method: 'GET' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: object;
  readonly status: number;
}

/**
 * Starts a broker on a free port of this machine, with both offerings and a SQLite file in a scratch
 * directory, and goes through the life of a binding. Prints each request as a shell command, and its
 * response. On a terminal the broker then runs until Ctrl-C, so that the commands can be pasted. Returns the
 * exit code: 1 if a response has an unexpected status.
 */
export async function runBrokerDemo({ out, signal, isTerminal }: CommandIo): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'volume-broker-'));
  try {
    const config = temporaryConfig(folder);
    const running = await startBroker(config, () => undefined);
    try {
      const curlrc = join(folder, 'curlrc');
      await writeFile(curlrc, curlConfig(config), { mode: 0o600 });
      out(`Broker at ${running.url}, with a SQLite file in ${folder}\n`);
      let failures = 0;
      for (const step of steps()) {
        if (signal.aborted) break;
        failures += (await sendStep(step, { url: running.url, curlrc, config, out })) ? 0 : 1;
      }
      out(
        failures === 0
          ? '\nEvery answer is as OSBAPI has it.\n'
          : `\n${failures} answers are not as OSBAPI has them.\n`,
      );
      if (isTerminal && !signal.aborted) {
        out('The lines above can be pasted into another shell. Ctrl-C ends the broker.\n');
        await untilAborted(signal);
      }
      return failures === 0 ? 0 : 1;
    } finally {
      await running.stop();
    }
  } finally {
    await removeTree(folder, { within: tmpdir() });
  }
}

/** Returns the configuration of a broker with its files in `folder`. */
export function temporaryConfig(folder: string): BrokerConfig {
  const operator = { defaults: {}, forced: {} };
  return {
    listen: { host: '127.0.0.1', port: 0 },
    tls: undefined,
    auth: { username: 'broker', passwords: [randomUUID()] },
    offerings: [
      nfsOffering({ ldap: false, operator, maintenance: undefined }),
      smbOffering({ operator, maintenance: undefined }),
    ],
    store: { sqlite: join(folder, 'broker.db') },
    encryptionKeys: [randomBytes(32)],
    scheme: { hmacKey: randomBytes(32) },
    preflight: 'off',
    isAsync: false,
    migrateFrom: [],
  };
}

/**
 * Returns a configuration file for curl. As arguments, the credentials would be visible to other users of the
 * machine.
 */
const curlConfig = ({ auth }: BrokerConfig): string =>
  [`user = "${auth.username}:${auth.passwords[0] ?? ''}"`, 'header = "X-Broker-API-Version: 2.15"', ''].join(
    '\n',
  );

function steps(): Step[] {
  const nfs = nfsOffering({ ldap: false, operator: { defaults: {}, forced: {} }, maintenance: undefined });
  const instance = `/v2/service_instances/${randomUUID()}`;
  const binding = `${instance}/service_bindings/${randomUUID()}`;
  const plan = { service_id: nfs.id, plan_id: nfs.plan.id };
  const query = `service_id=${nfs.id}&plan_id=${nfs.plan.id}&accepts_incomplete=true`;
  const provision = {
    ...plan,
    organization_guid: randomUUID(),
    space_guid: randomUUID(),
    parameters: { share: 'nfs.example.com:/export/vol1' },
  };
  const bind = {
    ...plan,
    app_guid: randomUUID(),
    parameters: { uid: '1000', gid: '1000', mount: '/var/vcap/data/photos' },
  };
  return [
    { title: 'cf create-service-broker reads the catalog', method: 'GET', path: '/v2/catalog', status: 200 },
    {
      title: 'cf create-service nfs Existing photos -c ...',
      method: 'PUT',
      path: `${instance}?accepts_incomplete=true`,
      body: provision,
      status: 201,
    },
    {
      title: 'cf bind-service my-app photos -c ...',
      method: 'PUT',
      path: `${binding}?accepts_incomplete=true`,
      body: bind,
      status: 201,
    },
    { title: 'cf service photos', method: 'GET', path: instance, status: 200 },
    { title: 'what the binding was made with', method: 'GET', path: binding, status: 200 },
    { title: 'cf unbind-service my-app photos', method: 'DELETE', path: `${binding}?${query}`, status: 200 },
    { title: 'cf delete-service photos', method: 'DELETE', path: `${instance}?${query}`, status: 200 },
  ];
}

interface DemoContext {
  readonly url: string;
  readonly curlrc: string;
  readonly config: BrokerConfig;
  readonly out: (text: string) => void;
}

/**
 * Sends one request and prints it with its response. Returns false if the response has another status than
 * expected.
 */
async function sendStep({ title, method, path, body, status }: Step, walk: DemoContext): Promise<boolean> {
  const { url, curlrc, config, out } = walk;
  const json = body === undefined ? undefined : JSON.stringify(body);
  const data = json === undefined ? '' : ` -H 'Content-Type: application/json' -d '${json}'`;
  out(`\n# ${title}\ncurl -sS -K '${curlrc}' -X ${method} '${url}${path}'${data}\n`);
  const { username, passwords } = config.auth;
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      authorization: `Basic ${Buffer.from(`${username}:${passwords[0] ?? ''}`).toString('base64')}`,
      'x-broker-api-version': '2.15',
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(json === undefined ? {} : { body: json }),
  });
  const answer = await response.text();
  const expected = response.status === status ? '' : `, but OSBAPI wants ${status}`;
  out(`${response.status}${expected} ${truncate(answer)}\n`);
  return response.status === status;
}

const longestShown = 400;
const truncate = (text: string): string =>
  text.length <= longestShown ? text : `${text.slice(0, longestShown)}... (${text.length} bytes)`;
