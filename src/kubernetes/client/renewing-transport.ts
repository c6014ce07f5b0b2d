import type { CredentialSource } from '../access/access.ts';
import type { Transport, TransportRequest, TransportResponse, TransportStream } from './transport.ts';

/**
 * Returns a transport that gets new credentials from a program if the server rejects the current ones, and
 * sends the request once more. A request with the response 401 has done nothing (client-go:
 * plugin/pkg/client/auth/exec, roundTripper).
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
