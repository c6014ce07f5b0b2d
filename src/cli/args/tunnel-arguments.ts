import { resolve } from 'node:path';
import { parseName, type Destination } from '../../tunnel/socks5.ts';
import { clusterFlags, type Flags } from './flags.ts';
import { expandHome, invalidArguments, parseCommandLine } from './parse-command-line.ts';

export const tunnelUsage = '[-- COMMAND]';

/** The cluster and the namespaces that a tunnel leads to. */
export interface TunnelFlags {
  /** Absolute path. The default is the current directory if it contains director.json. */
  readonly directory?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespaces: readonly string[];
  readonly networks: readonly string[];
  readonly maps: readonly string[];
}

export type TunnelArguments =
  | { readonly kind: 'stop'; readonly directory?: string }
  | { readonly kind: 'stdio'; readonly flags: TunnelFlags; readonly destination: Destination }
  | {
      readonly kind: 'serve';
      readonly flags: TunnelFlags;
      /** 0 selects a free port. */
      readonly port: number;
      /** Also serve this user's clients in other pid namespaces. */
      readonly allowsContainers: boolean;
      /** If empty, the tunnel runs until it is interrupted. */
      readonly command: readonly string[];
      /** True if print-env started the tunnel in the background. */
      readonly isDetached: boolean;
    };

const directoryFlag = {
  type: 'string',
  value: 'DIRECTORY',
  help: "Folder of 'director init' (default: this one)",
} as const;

const options = {
  directory: directoryFlag,
  port: { type: 'string', value: 'N', help: 'Port of the proxy on 127.0.0.1 (default: any)' },
  stdio: { type: 'boolean', help: 'Connect stdin and stdout to HOST PORT' },
  map: {
    type: 'string',
    multiple: true,
    value: '*.DOMAIN=SERVICE',
    help: 'Names below DOMAIN lead to a Service',
  },
  ...clusterFlags,
  namespace: {
    type: 'string',
    multiple: true,
    value: 'NAME',
    help: 'A namespace whose pods and Services are reached',
  },
  network: { type: 'string', multiple: true, value: 'CIDR', help: 'Addresses that belong to the cluster' },
  'allow-containers': { type: 'boolean', help: "Serve also this user's containers" },
  // Only print-env uses this flag.
  detached: { type: 'boolean' },
} as const;

export const tunnelStopFlags = { directory: directoryFlag };
const { detached: _, ...operatorFlags } = options;
export const tunnelFlags: Flags = operatorFlags;

/** Throws INVALID_ARGUMENT with the usage. */
export function parseTunnelArguments(args: readonly string[]): TunnelArguments {
  const end = args.indexOf('--');
  const command = end < 0 ? [] : args.slice(end + 1);
  if (end >= 0 && command.length === 0) throw invalid("A command is missing after '--'");
  const { values, positionals } = parseCommandLine(end < 0 ? args : args.slice(0, end), options, invalid);
  if (positionals[0] === 'stop') {
    const others = Object.keys(values).some((name) => name !== 'directory');
    if (others || positionals.length > 1 || end >= 0) throw invalid("'tunnel stop' takes only --directory");
    return { kind: 'stop', ...directoryOf(values) };
  }
  const flags = parseFlags(values);
  if (values.stdio === true) {
    if (values.port !== undefined || values['allow-containers'] === true || end >= 0)
      throw invalid('--stdio cannot be used with --port, --allow-containers or a command');
    return { kind: 'stdio', flags, destination: parseDestination(positionals) };
  }
  if (positionals.length > 0)
    throw invalid(`Unexpected argument '${positionals[0]}'; a command comes after '--'`);
  return {
    kind: 'serve',
    flags,
    port: parsePort(values.port),
    allowsContainers: values['allow-containers'] === true,
    command,
    isDetached: values.detached === true,
  };
}

type Values = ReturnType<typeof parseCommandLine<typeof options>>['values'];

function parseFlags(values: Values): TunnelFlags {
  return {
    ...directoryOf(values),
    ...(values.kubeconfig === undefined ? {} : { kubeconfig: resolve(expandHome(values.kubeconfig)) }),
    ...(values.context === undefined ? {} : { context: values.context }),
    namespaces: (values.namespace ?? []).map(parseNamespace),
    networks: values.network ?? [],
    maps: values.map ?? [],
  };
}

const directoryOf = ({ directory }: Values): Pick<TunnelFlags, 'directory'> =>
  directory === undefined ? {} : { directory: resolve(expandHome(directory)) };

const invalid = invalidArguments(`tunnel ${tunnelUsage}, or: tunnel --stdio HOST PORT, or: tunnel stop`);

function parseDestination([host, port, ...more]: readonly string[]): Destination {
  const name = host === undefined ? undefined : parseName(host);
  const number = port === undefined ? 0 : parsePort(port);
  if (name === undefined || number === 0 || more.length > 0)
    throw invalid('--stdio needs one HOST, a DNS name or an address, and its PORT');
  return { host: name, port: number };
}

function parsePort(text: string | undefined): number {
  if (text === undefined) return 0;
  if (/^\d{1,5}$/u.test(text) && Number(text) <= 65_535) return Number(text);
  throw invalid(`'${text}' is not a valid port`);
}

function parseNamespace(text: string): string {
  if (/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/u.test(text)) return text;
  throw invalid(`'${text}' is not a valid namespace name`);
}
