import { once } from 'node:events';
import { socks5Connect } from '../../bosh/agent-client/socks5-connect.ts';
import { ProductError } from '../../errors/product-error.ts';
import {
  parseTunnelArguments,
  tunnelFlags,
  tunnelStopFlags,
  tunnelUsage,
  type TunnelArguments,
} from '../args/tunnel-arguments.ts';
import type { Command, CommandContext } from '../command.ts';
import { runChildCommand } from '../run-child-command.ts';
import { asDetachedTunnel, stopDetachedTunnel } from '../tunnel/detached-tunnel.ts';
import { connectStdio, proxyVariables, serveTunnel, type ServeOptions } from '../tunnel/serve-tunnel.ts';
import { withTunnel, type TunnelDialer } from '../tunnel/with-tunnel.ts';

/** A SOCKS5 proxy into a cluster, through its API's port forwarding (docs/tunnel.md). */
export const tunnel: Command = {
  name: 'tunnel',
  documentation: 'docs/tunnel.md',
  usage: tunnelUsage,
  operands: ['other'],
  summary: 'Serve a SOCKS5 proxy into a cluster, also for a command',
  flags: tunnelFlags,
  example: '--namespace bosh -- curl http://web.bosh:8080/',
  subCommands: [
    {
      name: 'stop',
      usage: '',
      summary: "Stop the tunnel that 'director print-env' started",
      flags: tunnelStopFlags,
      example: '--directory my-director',
      run: (args, context) => runTunnel(['stop', ...args], context),
    },
  ],
  run: runTunnel,
};

async function runTunnel(args: readonly string[], context: CommandContext): Promise<number> {
  const parsed = parseTunnelArguments(args);
  switch (parsed.kind) {
    case 'stdio':
      return withTunnel(parsed.flags, context, async (way) =>
        connectStdio(await way(parsed.destination), context),
      );
    case 'stop':
      return stopDetachedTunnel(parsed.directory ?? process.cwd(), context);
    case 'serve':
      return parsed.isDetached ? serveDetached(parsed, context) : serve(parsed, context);
  }
}

type ServeArguments = Extract<TunnelArguments, { kind: 'serve' }>;

function serve({ flags, command, ...how }: ServeArguments, context: CommandContext): Promise<number> {
  const { terminal, environment, signal } = context;
  const log = (line: string): void => terminal.error(`tunnel: ${line}`);
  return withTunnel(flags, context, (way) =>
    whileServing(way, { ...how, log }, async (listening) => {
      const variables = proxyVariables(listening);
      if (command.length > 0)
        return runChildCommand(command, { environment: { ...environment, ...variables }, signal });
      terminal.out(
        `The tunnel is open on 127.0.0.1:${listening} until Ctrl-C. In another shell:\n` +
          Object.entries(variables)
            .map(([name, value]) => `  export ${name}=${value}\n`)
            .join(''),
      );
      return whenAborted(signal);
    }),
  );
}

/** Serves the tunnel for print-env. Its messages go to a log. */
function serveDetached({ flags, ...how }: ServeArguments, context: CommandContext): Promise<number> {
  const { terminal, signal } = context;
  const log = (line: string): void => terminal.error(`${new Date().toISOString()} ${line}`);
  return asDetachedTunnel(flags.directory ?? process.cwd(), context, (announce) =>
    withTunnel(flags, context, (way) =>
      whileServing(way, { ...how, log }, async (listening) => {
        log(`listens on 127.0.0.1:${listening}`);
        await announce(listening);
        return whenAborted(signal);
      }),
    ),
  );
}

async function whileServing<T>(
  way: TunnelDialer,
  options: ServeOptions,
  action: (port: number) => Promise<T>,
): Promise<T> {
  const server = await serveTunnel(way, options);
  try {
    return await action(server.port);
  } finally {
    await server.close();
  }
}

async function whenAborted(signal: AbortSignal): Promise<number> {
  if (!signal.aborted) await once(signal, 'abort');
  return 0;
}

const usage = 'PROXY_HOST PROXY_PORT HOST PORT';

/** Connects stdin and stdout through a SOCKS5 proxy. This is the ProxyCommand of `ssh`, `scp` and `logs`. */
export const socks5ConnectCommand: Command = {
  name: 'socks5-connect',
  usage,
  summary: 'Connect stdin and stdout through a SOCKS5 proxy',
  // Operators use tunnel --stdio.
  isHidden: true,
  async run(args, context) {
    const [proxyHost = '', proxyPort = '', host = '', port = ''] = args;
    if (args.length !== 4 || ![proxyPort, port].every((text) => /^[0-9]{1,5}$/.test(text)))
      throw new ProductError('INVALID_ARGUMENT', `Usage: socks5-connect ${usage}`);
    const proxy = { host: proxyHost, port: Number(proxyPort) };
    return connectStdio(await socks5Connect(proxy, { host, port: Number(port) }, context.signal), context);
  },
};
