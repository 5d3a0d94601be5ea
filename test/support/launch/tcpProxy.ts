/** The soak uses the proxy too, and the soak imports no test code. */
export { startProxy, type TcpProxy } from '../../soak/cluster/tcpProxy.js';
