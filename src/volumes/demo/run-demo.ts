import { randomUUID } from 'node:crypto';
import { chmod, chown, mkdir, mkdtemp, readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { redactor } from '../../errors/redact/redactor.ts';
import { mountsAtOrBelow, readMountTable } from '../../platform/mountinfo.ts';
import { parsePathSegment } from '../../platform/path-segment.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import type { BrokerConfig } from '../broker/config.ts';
import { startBroker } from '../broker/start-broker.ts';
import { temporaryConfig } from '../broker/try-broker.ts';
import { parseVolumeMounts } from '../options/parse-volume-mounts.ts';
import { runApp } from '../cell/run-app.ts';
import { parseDriverConfig } from '../driver/config.ts';
import { bindMounter } from '../driver/mount/bind-mounter.ts';
import { ShareMounter } from '../driver/mount/share-mounter.ts';
import { startDriver } from '../driver/start-driver.ts';
import { Volman } from '../volman/volman.ts';

/** A share for the demo, and the directory of its server that contains the files. */
export type DemoShare = ServerShare &
  (
    | { readonly protocol: 'nfs' }
    | { readonly protocol: 'smb'; readonly username: string; readonly password: string }
  );

interface ServerShare {
  /** `host:/path` for NFS, `//host/share` for SMB. */
  readonly share: string;
  readonly serverFolder: string;
  /** The uid and gid on the server with which the app writes. */
  readonly uid: number;
  readonly gid: number;
  readonly version: string;
}

export interface DemoPorts {
  /** Without it, a local directory is bound instead of a share, and every line says so. */
  readonly share?: DemoShare | undefined;
  readonly out: (text: string) => void;
  readonly signal: AbortSignal;
}

/** The user of apps on Cloud Foundry. */
const appUser = 2000;
const written = 'hello from the app';

/**
 * Runs the whole life of a share on one machine, with broker, driver, volume manager and cell: creates an
 * instance and a binding, lets an app write through its volume, checks the file on the server, and removes
 * everything. Returns 1 if a step fails.
 */
export async function runDemo(ports: DemoPorts): Promise<number> {
  if (process.geteuid?.() !== 0)
    throw new ProductError('NOT_SUPPORTED', 'volumes demo mounts, which only root may: run it with sudo');
  const demo = await prepare(ports);
  const stops: (() => Promise<unknown>)[] = [() => removeTree(demo.folder, { within: tmpdir() })];
  let code = 0;
  try {
    await walk(demo, stops);
  } catch (error) {
    demo.say(`FAILED: ${error instanceof Error ? error.message : String(error)}`);
    code = 1;
  }
  for (const stop of stops.toReversed()) await stop();
  const left = mountsAtOrBelow(await readMountTable(), demo.folder).map(({ target }) => target);
  if (left.length > 0) code = 1;
  demo.say(left.length === 0 ? 'nothing is left mounted' : `FAILED: still mounted: ${left.join(', ')}`);
  return code;
}

interface Demo extends DemoPorts {
  readonly folder: string;
  readonly serverFolder: string;
  readonly say: (line: string) => void;
}

async function prepare(ports: DemoPorts): Promise<Demo> {
  const folder = await mkdtemp(join(tmpdir(), 'volumes-demo-'));
  // the app runs as another user and must be able to pass through the directory
  await chmod(folder, 0o755);
  const serverFolder = ports.share?.serverFolder ?? join(folder, 'server/export/photos');
  if (ports.share === undefined) {
    await mkdir(serverFolder, { recursive: true });
    await chmod(serverFolder, 0o700);
    await chown(serverFolder, appUser, appUser);
  }
  const kind =
    ports.share === undefined
      ? 'local bind, no NFS'
      : `${ports.share.protocol.toUpperCase()} ${ports.share.version}`;
  const redact = redactor(ports.share?.protocol === 'smb' ? { password: ports.share.password } : {});
  const say = (line: string): void =>
    ports.out(
      redact(line)
        .split('\n')
        .map((part) => `${kind} | ${part}\n`)
        .join(''),
    );
  return { ...ports, folder, serverFolder, say };
}

/** Runs the steps of the demo. Adds cleanups to `stops`, which run in reverse order. */
async function walk(demo: Demo, stops: (() => Promise<unknown>)[]): Promise<void> {
  const { folder, serverFolder, share, say, signal } = demo;
  const config = temporaryConfig(folder);
  const broker = await startBroker(config, () => undefined);
  stops.push(() => broker.stop());
  say(`broker: listens at ${broker.url}`);

  await startDemoDriver(demo, stops);
  const volman = new Volman({
    folders: [join(folder, 'voldrivers')],
    mountFolders: [join(folder, 'volumes')],
    deadlines: { short: 30, mount: 120 },
    metrics: { count: (name) => say(`volman: ${name}`), time: () => undefined },
    log: (line) => say(`volman: ${line}`),
    clock: () => performance.now(),
  });
  await volman.scan();
  stops.push(() => volman.purge());
  const drivers = volman.listDrivers();
  say(`volman: knows ${drivers.join(', ')}`);
  const protocol = share?.protocol ?? 'nfs';
  expect(drivers.includes(driverNames[protocol]), 'volman does not know the driver');

  const offering = config.offerings.find((each) => each.protocol === protocol);
  expect(offering !== undefined, `the broker does not offer ${protocol}`);
  const instance = `/v2/service_instances/${randomUUID()}`;
  const binding = `${instance}/service_bindings/${randomUUID()}`;
  const plan = { service_id: offering.id, plan_id: offering.plan.id };
  const send = sender(demo, config, broker.url);
  await send(`cf create-service ${offering.name} ${offering.plan.name} photos`, 'PUT', instance, 201, {
    ...plan,
    organization_guid: randomUUID(),
    space_guid: randomUUID(),
    parameters: { share: share?.share ?? 'server:/export/photos', ...(share && { version: share.version }) },
  });
  const answer = await send('cf bind-service my-app photos', 'PUT', binding, 201, {
    ...plan,
    app_guid: randomUUID(),
    parameters: { mount: join(folder, 'container/photos'), ...(share && rightsOf(share)) },
  });

  const volumes = parseVolumeMounts(answer);
  const place = volumes[0]?.containerDir ?? '';
  const script = `echo '${written}' > "$1/hello"`;
  say(`cell: runs as uid ${appUser}: sh -c '${script.replaceAll("'", '"')}' sh ${place}`);
  const container = parsePathSegment(`app-${randomUUID()}`);
  expect(container !== undefined, 'the container has no name');
  const code = await runApp(
    { container, volumes, command: ['sh', '-c', script, 'sh', place], uid: appUser, gid: appUser, root: '/' },
    {
      volman,
      state: join(folder, 'cell'),
      deadlines: { start: 60, grace: 10, kill: 10, watch: 5 },
      log: (line) => say(`cell: ${line}`),
      onStep: (step) => say(`cell: ${step}`),
      signal,
    },
  );
  expect(code === 0, `the app ended with code ${code}`);

  const file = join(serverFolder, 'hello');
  const [text, found] = [await readFile(file, 'utf8'), await stat(file)];
  say(`server: hello has ${JSON.stringify(text)} and belongs to ${found.uid}:${found.gid}`);
  const owner = share === undefined ? [appUser, appUser] : [share.uid, share.gid];
  expect(text === `${written}\n`, 'the file has another content');
  expect(found.uid === owner[0] && found.gid === owner[1], `the file does not belong to ${owner.join(':')}`);

  const query = `?service_id=${plan.service_id}&plan_id=${plan.plan_id}`;
  await send('cf unbind-service my-app photos', 'DELETE', `${binding}${query}`, 200);
  await send('cf delete-service photos', 'DELETE', `${instance}${query}`, 200);
}

/** Returns the parameters of a binding for the user with whose permissions the app writes. */
function rightsOf(share: DemoShare): Readonly<Record<string, string>> {
  if (share.protocol === 'smb') return { username: share.username, password: share.password };
  return { uid: String(share.uid), gid: String(share.gid) };
}

const driverNames = { nfs: 'nfsv3driver', smb: 'smbdriver' } as const;

async function startDemoDriver(
  { folder, share, say }: Demo,
  stops: (() => Promise<unknown>)[],
): Promise<void> {
  const words = [
    ...['--name', driverNames[share?.protocol ?? 'nfs'], '-transport', 'tcp-json'],
    ...['-listenAddr', '127.0.0.1:0', '-adminAddr', '127.0.0.1:0'],
    ...['-driversPath', join(folder, 'voldrivers'), '-mountDir', join(folder, 'volumes')],
    ...(share === undefined ? ['-bindFrom', join(folder, 'server')] : []),
  ];
  say(`driver: volumes driver ${words.join(' ')}`);
  const mounter =
    share === undefined ? bindMounter(join(folder, 'server')) : new ShareMounter({ mountSeconds: 60 });
  const driver = await startDriver(parseDriverConfig(words), { mounter, out: () => undefined });
  stops.push(() => driver.stop());
  say(`driver: listens at ${driver.address}`);
}

type Send = (title: string, method: string, path: string, status: number, body?: object) => Promise<string>;

/**
 * Returns a function that sends a request to the broker as Cloud Controller does, and prints it with its
 * response.
 */
function sender({ say }: Demo, { auth }: BrokerConfig, url: string): Send {
  return async (title, method, path, status, body) => {
    say(`${title}: ${method} ${path}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`);
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Basic ${Buffer.from(`${auth.username}:${auth.passwords[0] ?? ''}`).toString('base64')}`,
        'x-broker-api-version': '2.15',
        'content-type': 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = await response.text();
    say(`broker: ${response.status} ${answer}`);
    expect(response.status === status, `OSBAPI wants status ${status} there`);
    return answer;
  };
}

function expect(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new ProductError('CONTAINER_FAILED', `${otherwise}; see the lines above`);
}
