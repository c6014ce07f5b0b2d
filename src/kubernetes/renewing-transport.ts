import type { CredentialSource } from './credentials.ts';
import type { Transport, TransportRequest, TransportResponse, TransportStream } from './transport.ts';

/**
 * A transport that gets other credentials where the server refuses those of a program, and then asks once more:
 * a request that was answered with 401 has done nothing (client-go: plugin/pkg/client/auth/exec, roundTripper).
 */
export function renewingTransport(transport: Transport, credentials: CredentialSource): Transport {
  return {
    request: async (request: TransportRequest): Promise<TransportResponse> => {
      const response = await transport.request(request);
      if (response.status !== 401) return response;
      credentials.refused();
      return transport.request(request);
    },
    stream: async (request: TransportRequest): Promise<TransportStream> => {
      const stream = await transport.stream(request);
      if (stream.status !== 401) return stream;
      for await (const _ of stream.chunks) break;
      credentials.refused();
      return transport.stream(request);
    },
    close: () => {
      transport.close();
    },
  };
}
