import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeTree } from '../../platform/remove-tree.ts';
import type { BrokerConfig } from './config.ts';
import type { BasicAuth } from './http/auth.ts';
import { nfsOffering, type Offering, smbOffering } from './offerings/offering.ts';
import { startBroker } from './start-broker.ts';

/** One request as Cloud Controller sends it, and the expected status. */
export interface BrokerStep {
  readonly title: string;
  readonly method: 'GET' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: object;
  readonly status: number;
}

type StepName =
  | 'readCatalog'
  | 'createService'
  | 'bindService'
  | 'showService'
  | 'showBinding'
  | 'unbindService'
  | 'deleteService';

/** Returns the requests of the life of one binding, in their order. */
export function brokerSteps(
  { id, name, plan }: Offering,
  parameters: { readonly service: object; readonly binding: object },
): Readonly<Record<StepName, BrokerStep>> {
  const instance = `/v2/service_instances/${randomUUID()}`;
  const binding = `${instance}/service_bindings/${randomUUID()}`;
  const ids = { service_id: id, plan_id: plan.id };
  const accepts = 'accepts_incomplete=true';
  const query = `service_id=${id}&plan_id=${plan.id}&${accepts}`;
  return {
    readCatalog: {
      title: 'cf create-service-broker reads the catalog',
      method: 'GET',
      path: '/v2/catalog',
      status: 200,
    },
    createService: {
      title: `cf create-service ${name} ${plan.name} photos -c ...`,
      method: 'PUT',
      path: `${instance}?${accepts}`,
      body: {
        ...ids,
        organization_guid: randomUUID(),
        space_guid: randomUUID(),
        parameters: parameters.service,
      },
      status: 201,
    },
    bindService: {
      title: 'cf bind-service my-app photos -c ...',
      method: 'PUT',
      path: `${binding}?${accepts}`,
      body: { ...ids, app_guid: randomUUID(), parameters: parameters.binding },
      status: 201,
    },
    showService: { title: 'cf service photos', method: 'GET', path: instance, status: 200 },
    showBinding: { title: 'the parameters of the binding', method: 'GET', path: binding, status: 200 },
    unbindService: {
      title: 'cf unbind-service my-app photos',
      method: 'DELETE',
      path: `${binding}?${query}`,
      status: 200,
    },
    deleteService: {
      title: 'cf delete-service photos',
      method: 'DELETE',
      path: `${instance}?${query}`,
      status: 200,
    },
  };
}

/** Sends a request to the broker at `url`. */
export async function sendStep(
  { method, path, body }: BrokerStep,
  { url, auth: { username, passwords } }: { readonly url: string; readonly auth: BasicAuth },
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      authorization: `Basic ${Buffer.from(`${username}:${passwords[0] ?? ''}`).toString('base64')}`,
      'x-broker-api-version': '2.15',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

/** Returns the configuration of a broker with its files in `directory`. */
export function temporaryConfig(directory: string): BrokerConfig {
  const operator = { defaults: {}, forced: {} };
  return {
    listen: { host: '127.0.0.1', port: 0 },
    tls: undefined,
    auth: { username: 'broker', passwords: [randomUUID()] },
    offerings: [
      nfsOffering({ ldap: false, operator, maintenance: undefined }),
      smbOffering({ operator, maintenance: undefined }),
    ],
    store: { sqlite: join(directory, 'broker.db') },
    encryptionKeys: [randomBytes(32)],
    scheme: { hmacKey: randomBytes(32) },
    preflight: 'off',
    migrateFrom: [],
  };
}

interface DemoIo {
  readonly out: (text: string) => void;
  /** Ends the demo after the current request. */
  readonly signal: AbortSignal;
  /** True if the output goes to a terminal, so that a user can paste the printed lines. */
  readonly isTerminal: boolean;
}

/**
 * Starts a broker on a free port of this machine, with both offerings and a SQLite file in a temporary
 * directory, and sends the requests of the life of a binding. Prints each request as a shell command, and its
 * response. On a terminal the broker then runs until Ctrl-C, so that the commands can be pasted. Returns the
 * exit code: 1 if a response has an unexpected status.
 */
export async function runBrokerDemo(io: DemoIo): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'volume-broker-'));
  try {
    const config = temporaryConfig(directory);
    const running = await startBroker(config, () => undefined);
    try {
      io.out(`Broker at ${running.url}, with a SQLite file in ${directory}\n`);
      const curlrc = join(directory, 'curlrc');
      await writeFile(curlrc, curlConfig(config.auth), { mode: 0o600 });
      return await sendAll(config, { url: running.url, curlrc }, io);
    } finally {
      await running.stop();
    }
  } finally {
    await removeTree(directory, { within: tmpdir() });
  }
}

/** Sends and prints all requests. Returns the exit code. */
async function sendAll(
  { auth, offerings }: BrokerConfig,
  { url, curlrc }: { readonly url: string; readonly curlrc: string },
  { out, signal, isTerminal }: DemoIo,
): Promise<number> {
  const steps = offerings.slice(0, 1).flatMap((nfs) =>
    Object.values(
      brokerSteps(nfs, {
        service: { share: 'nfs.example.com:/export/vol1' },
        binding: { uid: '1000', gid: '1000', mount: '/var/vcap/data/photos' },
      }),
    ),
  );
  let failures = 0;
  for (const step of steps) {
    if (signal.aborted) break;
    const data =
      step.body === undefined ? '' : ` -H 'Content-Type: application/json' -d '${JSON.stringify(step.body)}'`;
    out(`\n# ${step.title}\ncurl -sS -K '${curlrc}' -X ${step.method} '${url}${step.path}'${data}\n`);
    const { status, text } = await sendStep(step, { url, auth });
    const isExpected = status === step.status;
    if (!isExpected) failures += 1;
    out(`${status}${isExpected ? '' : `, but OSBAPI requires ${step.status}`} ${truncate(text)}\n`);
  }
  out(
    failures === 0
      ? '\nEvery response is as OSBAPI requires it.\n'
      : `\n${failures} responses are not as OSBAPI requires them.\n`,
  );
  if (isTerminal && !signal.aborted) {
    out('The lines above can be pasted into another shell. Ctrl-C ends the broker.\n');
    await once(signal, 'abort');
  }
  return failures === 0 ? 0 : 1;
}

/**
 * Returns a configuration file for curl. As arguments, the credentials would be visible to other users of the
 * machine.
 */
const curlConfig = ({ username, passwords }: BasicAuth): string =>
  [`user = "${username}:${passwords[0] ?? ''}"`, 'header = "X-Broker-API-Version: 2.15"', ''].join('\n');

const maxShown = 400;

const truncate = (text: string): string =>
  text.length <= maxShown ? text : `${text.slice(0, maxShown)}... (${text.length} bytes)`;
