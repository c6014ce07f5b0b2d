import { isIP } from 'node:net';
import { isAbsolute, join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { OperatorFlags } from './parse-mount-config.ts';

/** The driver names that Cloud Foundry's brokers put into volume mounts. */
type DriverName = 'nfsv3driver' | 'smbdriver';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The address at which volman or Docker reaches the driver. */
type Transport =
  | { readonly kind: 'tcp'; readonly listen: Address; readonly specFile: 'spec' | 'json' }
  | { readonly kind: 'unix'; readonly path: string };

/**
 * Paths of PEM files. The spec file names the client's files, which volman uses for its connections to the
 * driver.
 */
export interface TlsFiles {
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
  readonly clientCertificate: string;
  readonly clientKey: string;
  readonly insecureSkipVerify: boolean;
}

/** Timeouts in milliseconds. */
export interface Deadlines {
  readonly mount: number;
  readonly unmount: number;
  readonly probe: number;
  readonly drain: number;
}

/** The configuration of a driver process. */
export interface DriverConfig {
  readonly name: DriverName;
  readonly protocol: 'nfs' | 'smb';
  readonly transport: Transport;
  readonly admin: Address;
  readonly driversPath: string;
  /** The directory with one mount point per volume, which has the volume's name. */
  readonly mountDir: string;
  readonly tls: TlsFiles | undefined;
  readonly deadlines: Deadlines;
  /** Milliseconds between two probes of all mounts. 0 disables the watchdog. */
  readonly watchIntervalMs: number;
  readonly forcedFlags: OperatorFlags;
  readonly signatures: 'off' | 'log' | 'require';
  /** The file with the public keys of the broker, in PEM. */
  readonly signatureKeys: string | undefined;
  /** The directory of secrets that signed volumes may refer to. */
  readonly secretFiles: string | undefined;
  /** The file with the settings of the CredHub whose secrets signed volumes may refer to. */
  readonly credhub: string | undefined;
  readonly mapfsPath: string | undefined;
  /** Groups of addresses of NFS servers. The addresses of a group belong to one server. */
  readonly sameServers: readonly (readonly string[])[];
  /** The directory whose subdirectories are mounted instead of shares. */
  readonly bindSource: string | undefined;
}

const ports = { nfsv3driver: 7589, smbdriver: 8589 };

const flagTable: FlagTable = {
  name: 'text',
  listenAddr: 'text',
  adminAddr: 'text',
  listenPort: 'text',
  adminPort: 'text',
  driversPath: 'text',
  transport: 'text',
  mountDir: 'text',
  mapfsPath: 'text',
  nfsServerAddresses: 'text',
  forceNoserverino: 'switch',
  forceNoDfs: 'switch',
  requireSSL: 'switch',
  caFile: 'text',
  certFile: 'text',
  keyFile: 'text',
  clientCertFile: 'text',
  clientKeyFile: 'text',
  insecureSkipVerify: 'switch',
  mountTimeout: 'text',
  unmountTimeout: 'text',
  probeTimeout: 'text',
  drainTimeout: 'text',
  watchInterval: 'text',
  signatures: 'text',
  signatureKeys: 'text',
  secretFiles: 'text',
  credhub: 'text',
  bindFrom: 'text',
  // flags of the old drivers without effect: there is no debug server, and only one log format
  debugAddr: 'text',
  logLevel: 'text',
  timeFormat: 'text',
};

/** Parses the arguments after `volumes driver`. One error lists all problems. */
export function parseDriverConfig(args: readonly string[]): DriverConfig {
  const problems: string[] = [];
  const flags = parseFlags(args, flagTable, problems);
  const config = new FlagReader(flags, problems).config();
  if (problems.length > 0)
    throw new ProductError('DRIVER_CONFIG_INVALID', `volumes driver does not start: ${problems.join('; ')}`);
  return config;
}

class FlagReader {
  readonly #flags: Flags;
  readonly #problems: string[];

  constructor(flags: Flags, problems: string[]) {
    this.#flags = flags;
    this.#problems = problems;
  }

  config(): DriverConfig {
    const name = this.#name();
    const driversPath = this.#path('driversPath');
    return {
      name,
      protocol: name === 'smbdriver' ? 'smb' : 'nfs',
      transport: this.#transport(name, driversPath),
      admin: this.#address('admin', ports[name] + 1),
      driversPath,
      mountDir: this.#path('mountDir'),
      tls: this.#tls(),
      deadlines: {
        mount: this.#duration('mountTimeout', 30_000),
        unmount: this.#duration('unmountTimeout', 30_000),
        probe: this.#duration('probeTimeout', 5_000),
        drain: this.#duration('drainTimeout', 300_000),
      },
      watchIntervalMs: this.#duration('watchInterval', 30_000),
      forcedFlags: {
        noserverino: this.#flags.isSet('forceNoserverino'),
        nodfs: this.#flags.isSet('forceNoDfs'),
      },
      ...this.#trust(),
      mapfsPath: this.#flags.string('mapfsPath'),
      sameServers: this.#sameServers(),
      bindSource: this.#optionalPath('bindFrom'),
    };
  }

  #name(): DriverName {
    const name = this.#flags.string('name');
    if (name === 'nfsv3driver' || name === 'smbdriver') return name;
    this.#problems.push('-name must be nfsv3driver or smbdriver');
    return 'nfsv3driver';
  }

  #path(flag: string): string {
    const path = this.#flags.string(flag);
    if (path !== undefined && isAbsolute(path)) return path;
    this.#problems.push(`-${flag} must be an absolute path`);
    return '/';
  }

  #optionalPath(flag: string): string | undefined {
    return this.#flags.string(flag) === undefined ? undefined : this.#path(flag);
  }

  #sameServers(): DriverConfig['sameServers'] {
    const text = this.#flags.string('nfsServerAddresses');
    if (text === undefined) return [];
    const groups = text.split(';').map((group) => group.split(',').map((address) => address.trim()));
    if (groups.flat().some((address) => isIP(address) === 0))
      this.#problems.push(
        '-nfsServerAddresses must have addresses such as 10.0.0.1,10.0.0.2;10.0.1.1,10.0.1.2: those between semicolons belong to one server',
      );
    return groups;
  }

  #trust(): Pick<DriverConfig, 'signatures' | 'signatureKeys' | 'secretFiles' | 'credhub'> {
    const signatures = this.#flags.string('signatures') ?? 'off';
    const isMode = signatures === 'off' || signatures === 'log' || signatures === 'require';
    if (!isMode) this.#problems.push('-signatures must be off, log or require');
    const signatureKeys = this.#optionalPath('signatureKeys');
    const secretFiles = this.#optionalPath('secretFiles');
    const credhub = this.#optionalPath('credhub');
    const readsSecrets = secretFiles !== undefined || credhub !== undefined;
    if (signatureKeys === undefined && (signatures !== 'off' || readsSecrets))
      this.#problems.push('-signatureKeys is missing: a file with the public key of the broker');
    return { signatures: isMode ? signatures : 'off', signatureKeys, secretFiles, credhub };
  }

  #transport(name: DriverName, driversPath: string): Transport {
    const transport = this.#flags.string('transport') ?? 'tcp';
    const address = this.#flags.string('listenAddr');
    if (transport === 'tcp' || transport === 'tcp-json') {
      const specFile = transport === 'tcp' ? 'spec' : 'json';
      return { kind: 'tcp', listen: this.#address('listen', ports[name]), specFile };
    }
    if (transport !== 'unix') this.#problems.push('-transport must be tcp, tcp-json or unix');
    const path = address?.startsWith('/') === true ? address : join(driversPath, `${name}.sock`);
    return { kind: 'unix', path };
  }

  /**
   * Returns the address of a listener. nfsv3driver has one flag for host and port; smbdriver has one for the
   * port, on loopback.
   */
  #address(which: 'listen' | 'admin', defaultValue: number): Address {
    const port = this.#flags.string(`${which}Port`);
    const address = this.#flags.string(`${which}Addr`);
    if (port !== undefined && address !== undefined)
      this.#problems.push(`-${which}Port and -${which}Addr exclude each other`);
    if (address === undefined)
      return { host: '127.0.0.1', port: this.#port(`${which}Port`, port, defaultValue) };
    const [, bracketed, plain = '', number] = /^(?:\[([^\]]+)\]|([^:]*)):(\d+)$/u.exec(address) ?? [];
    if (number === undefined) this.#problems.push(`-${which}Addr must be host:port`);
    return { host: bracketed ?? plain, port: this.#port(`${which}Addr`, number, defaultValue) };
  }

  #port(flag: string, text: string | undefined, defaultValue: number): number {
    const port = text === undefined ? defaultValue : /^\d{1,5}$/u.test(text) ? Number(text) : NaN;
    if (port <= 65_535) return port;
    this.#problems.push(`-${flag} must have a port from 0 to 65535`);
    return 0;
  }

  #tls(): TlsFiles | undefined {
    if (!this.#flags.isSet('requireSSL')) return undefined;
    if (this.#flags.string('transport') !== 'tcp-json')
      this.#problems.push(
        '-requireSSL needs -transport tcp-json: no other spec file says which certificates to use',
      );
    return {
      ca: this.#path('caFile'),
      certificate: this.#path('certFile'),
      key: this.#path('keyFile'),
      clientCertificate: this.#path('clientCertFile'),
      clientKey: this.#path('clientKeyFile'),
      insecureSkipVerify: this.#flags.isSet('insecureSkipVerify'),
    };
  }

  /** Returns the milliseconds of a Go duration with one unit: 500ms, 30s, 5m. */
  #duration(flag: string, defaultValue: number): number {
    const text = this.#flags.string(flag);
    if (text === undefined) return defaultValue;
    const [, number, unit] = /^(\d{1,6})(ms|s|m)?$/u.exec(text) ?? [];
    if (number === undefined || (unit === undefined && number !== '0'))
      this.#problems.push(`-${flag} must be a duration such as 500ms, 30s or 5m`);
    return Number(number) * (unit === 'm' ? 60_000 : unit === 's' ? 1000 : 1);
  }
}

/** The known flags. A switch needs no value; `=true` and `=false` are valid. */
type FlagTable = Readonly<Record<string, 'text' | 'switch'>>;

/** The parsed flags. */
interface Flags {
  string(name: string): string | undefined;
  isSet(name: string): boolean;
}

/**
 * Parses flags as Go's package flag does: `-name value`, `-name=value`, with one dash or two. Adds errors to
 * `problems`.
 */
function parseFlags(args: readonly string[], table: FlagTable, problems: string[]): Flags {
  const values = new Map<string, string>();
  const remaining = [...args];
  for (let arg = remaining.shift(); arg !== undefined; arg = remaining.shift()) {
    const [, name = '', given] = /^--?([^-=][^=]*)(?:=(.*))?$/su.exec(arg) ?? [];
    const kind = Object.hasOwn(table, name) ? table[name] : undefined;
    if (kind === undefined) {
      problems.push(`unknown flag ${JSON.stringify(arg.slice(0, 80))}`);
      continue;
    }
    const value = given ?? (kind === 'switch' ? 'true' : remaining.shift());
    if (value === undefined) problems.push(`-${name} needs a value`);
    else if (kind === 'switch' && value !== 'true' && value !== 'false')
      problems.push(`-${name} must be true or false`);
    else values.set(name, value);
  }
  return {
    // Go programs treat an empty string as no value
    string: (name) => values.get(name) || undefined,
    isSet: (name) => values.get(name) === 'true',
  };
}
