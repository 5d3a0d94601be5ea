/** The proxy is the soak's too, and scripts import no tests. */
export { startProxy, type TcpProxy } from '../../soak/cluster/tcpProxy.js';
