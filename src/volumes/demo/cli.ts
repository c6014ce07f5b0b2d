import { randomUUID } from 'node:crypto';
import { chmod, chown, mkdir, mkdtemp, readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { redactor } from '../../errors/redact/redactor.ts';
import { mountsAtOrBelow, readMountTable } from '../../platform/mountinfo.ts';
import { parsePathSegment } from '../../platform/path-segment.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import { startBroker } from '../broker/start-broker.ts';
import { type BrokerStep, brokerSteps, sendStep, temporaryConfig } from '../broker/broker-demo.ts';
import { parseVolumeMounts } from '../options/volume-mount.ts';
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
  readonly serverDirectory: string;
  /** The uid and gid on the server with which the app writes. */
  readonly uid: number;
  readonly gid: number;
  readonly version: string;
}

interface DemoPorts {
  /** Without it, a local directory is bound instead of a share, and every line says so. */
  readonly share?: DemoShare | undefined;
  readonly out: (text: string) => void;
  readonly signal: AbortSignal;
}

/** The user of apps on Cloud Foundry. */
const appUser = 2000;
const fileContent = 'hello from the app';

/** Runs `volumes demo`, which takes no arguments. */
export async function runDemoCommand(args: readonly string[], io: DemoPorts): Promise<number> {
  if (args.length > 0)
    throw new ProductError('INVALID_ARGUMENT', 'volumes demo takes no arguments; leave them out');
  return runDemo({ out: io.out, signal: io.signal });
}

/**
 * Runs the whole life of a share on one machine, with broker, driver, volume manager and cell: creates an
 * instance and a binding, lets an app write through its volume, checks the file on the server, and removes
 * everything. Returns 1 if a step fails.
 */
export async function runDemo(ports: DemoPorts): Promise<number> {
  if (process.geteuid?.() !== 0)
    throw new ProductError(
      'NOT_SUPPORTED',
      'volumes demo must run as root, because it mounts; run it with sudo',
    );
  const demo = await prepare(ports);
  const cleanups: Cleanups = [() => removeTree(demo.directory, { within: tmpdir() })];
  let code = 0;
  try {
    await runDemoSteps(demo, cleanups);
  } catch (error) {
    demo.report(`FAILED: ${error instanceof Error ? error.message : String(error)}`);
    code = 1;
  }
  for (const cleanup of cleanups.toReversed()) await cleanup();
  const remaining = mountsAtOrBelow(await readMountTable(), demo.directory).map(({ target }) => target);
  if (remaining.length > 0) code = 1;
  demo.report(
    remaining.length === 0 ? 'nothing is left mounted' : `FAILED: still mounted: ${remaining.join(', ')}`,
  );
  return code;
}

/** The functions that undo the steps of a demo. They run in reverse order. */
type Cleanups = (() => Promise<unknown>)[];

interface Demo extends DemoPorts {
  readonly directory: string;
  readonly serverDirectory: string;
  readonly report: (line: string) => void;
}

async function prepare(ports: DemoPorts): Promise<Demo> {
  const directory = await mkdtemp(join(tmpdir(), 'volumes-demo-'));
  // the app runs as another user and must be able to pass through the directory
  await chmod(directory, 0o755);
  const serverDirectory = ports.share?.serverDirectory ?? join(directory, 'server/export/photos');
  if (ports.share === undefined) {
    await mkdir(serverDirectory, { recursive: true });
    await chmod(serverDirectory, 0o700);
    await chown(serverDirectory, appUser, appUser);
  }
  const kind =
    ports.share === undefined
      ? 'local bind, no NFS'
      : `${ports.share.protocol.toUpperCase()} ${ports.share.version}`;
  const redact = redactor(ports.share?.protocol === 'smb' ? { password: ports.share.password } : {});
  const report = (line: string): void =>
    ports.out(
      redact(line)
        .split('\n')
        .map((part) => `${kind} | ${part}\n`)
        .join(''),
    );
  return { ...ports, directory, serverDirectory, report };
}

/** Runs the steps of the demo. */
async function runDemoSteps(demo: Demo, cleanups: Cleanups): Promise<void> {
  const { directory, share, report } = demo;
  const config = temporaryConfig(directory);
  const broker = await startBroker(config, () => undefined);
  cleanups.push(() => broker.stop());
  report(`broker: listens at ${broker.url}`);
  await startDemoDriver(demo, cleanups);
  const volman = await startVolman(demo, cleanups);

  const protocol = share?.protocol ?? 'nfs';
  const offering = config.offerings.find((each) => each.protocol === protocol);
  assertStep(offering !== undefined, `the broker does not offer ${protocol}`);
  const steps = brokerSteps(offering, {
    service: { share: share?.share ?? 'server:/export/photos', ...(share && { version: share.version }) },
    binding: { mount: join(directory, 'container/photos'), ...(share && bindParameters(share)) },
  });
  const send = async (step: BrokerStep): Promise<string> => {
    const { title, method, path, body } = step;
    report(`${title}: ${method} ${path}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`);
    const { status, text } = await sendStep(step, { url: broker.url, auth: config.auth });
    report(`broker: ${status} ${text}`);
    assertStep(status === step.status, `OSBAPI requires status ${step.status} there`);
    return text;
  };
  await send(steps.createService);
  await runDemoApp(demo, volman, await send(steps.bindService));
  await checkFile(demo);
  await send(steps.unbindService);
  await send(steps.deleteService);
}

/** Starts a volume manager, which must find the driver. */
async function startVolman({ directory, share, report }: Demo, cleanups: Cleanups): Promise<Volman> {
  const volman = new Volman({
    directories: [join(directory, 'voldrivers')],
    mountDirectories: [join(directory, 'volumes')],
    deadlines: { short: 30, mount: 120 },
    metrics: { count: (name) => report(`volman: ${name}`), time: () => undefined },
    log: (line) => report(`volman: ${line}`),
    clock: () => performance.now(),
  });
  await volman.scan();
  cleanups.push(() => volman.purge());
  const drivers = volman.listDrivers();
  report(`volman: knows ${drivers.join(', ')}`);
  assertStep(drivers.includes(driverNames[share?.protocol ?? 'nfs']), 'volman does not know the driver');
  return volman;
}

/** Runs an app that writes a file through the volume of its binding. */
async function runDemoApp(
  { directory, report, signal }: Demo,
  volman: Volman,
  binding: string,
): Promise<void> {
  const volumes = parseVolumeMounts(binding);
  const path = volumes[0]?.containerDir ?? '';
  const script = `echo '${fileContent}' > "$1/hello"`;
  report(`cell: runs as uid ${appUser}: sh -c '${script.replaceAll("'", '"')}' sh ${path}`);
  const container = parsePathSegment(`app-${randomUUID()}`);
  assertStep(container !== undefined, 'the container has no name');
  const code = await runApp(
    { container, volumes, command: ['sh', '-c', script, 'sh', path], uid: appUser, gid: appUser, root: '/' },
    {
      volman,
      state: join(directory, 'cell'),
      deadlines: { start: 60, grace: 10, kill: 10, watch: 5 },
      log: (line) => report(`cell: ${line}`),
      onStep: (step) => report(`cell: ${step}`),
      signal,
    },
  );
  assertStep(code === 0, `the app ended with code ${code}`);
}

/** Checks the content and the owner of the file on the server. */
async function checkFile({ serverDirectory, share, report }: Demo): Promise<void> {
  const file = join(serverDirectory, 'hello');
  const [text, { uid, gid }] = [await readFile(file, 'utf8'), await stat(file)];
  report(`server: hello has ${JSON.stringify(text)} and belongs to ${uid}:${gid}`);
  assertStep(text === `${fileContent}\n`, 'the content of the file is wrong');
  const owner = share ?? { uid: appUser, gid: appUser };
  assertStep(uid === owner.uid && gid === owner.gid, `the file does not belong to ${owner.uid}:${owner.gid}`);
}

/** Returns the parameters of a binding for the user with whose permissions the app writes. */
function bindParameters(share: DemoShare): Readonly<Record<string, string>> {
  if (share.protocol === 'smb') return { username: share.username, password: share.password };
  return { uid: String(share.uid), gid: String(share.gid) };
}

const driverNames = { nfs: 'nfsv3driver', smb: 'smbdriver' } as const;

async function startDemoDriver({ directory, share, report }: Demo, cleanups: Cleanups): Promise<void> {
  const args = [
    ...['--name', driverNames[share?.protocol ?? 'nfs'], '-transport', 'tcp-json'],
    ...['-listenAddr', '127.0.0.1:0', '-adminAddr', '127.0.0.1:0'],
    ...['-driversPath', join(directory, 'voldrivers'), '-mountDir', join(directory, 'volumes')],
    ...(share === undefined ? ['-bindFrom', join(directory, 'server')] : []),
  ];
  report(`driver: volumes driver ${args.join(' ')}`);
  const mounter =
    share === undefined ? bindMounter(join(directory, 'server')) : new ShareMounter({ mountSeconds: 60 });
  const driver = await startDriver(parseDriverConfig(args), { mounter, out: () => undefined });
  cleanups.push(() => driver.stop());
  report(`driver: listens at ${driver.address}`);
}

function assertStep(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new ProductError('CONTAINER_FAILED', `${otherwise}; see the lines above`);
}
