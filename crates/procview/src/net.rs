//! The files of `net/`: what the kernel tells of the network that a reader is in.

/// A file of `net/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum NetFile {
    /// TCP over IPv4.
    Tcp,
    /// TCP over IPv6.
    Tcp6,
    /// UDP over IPv4.
    Udp,
    /// UDP over IPv6.
    Udp6,
    /// Raw sockets over IPv4.
    Raw,
    /// Raw sockets over IPv6.
    Raw6,
    /// Unix sockets.
    Unix,
    /// Netlink sockets.
    Netlink,
    /// Packet sockets.
    Packet,
    /// Interfaces.
    Dev,
    /// Routes of IPv4.
    Route,
    /// Neighbours of IPv4.
    Arp,
    /// Addresses of IPv6.
    IfInet6,
}

impl NetFile {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Tcp6 => "tcp6",
            Self::Udp => "udp",
            Self::Udp6 => "udp6",
            Self::Raw => "raw",
            Self::Raw6 => "raw6",
            Self::Unix => "unix",
            Self::Netlink => "netlink",
            Self::Packet => "packet",
            Self::Dev => "dev",
            Self::Route => "route",
            Self::Arp => "arp",
            Self::IfInet6 => "if_inet6",
        }
    }

    /// The text where there is no socket and no interface.
    pub(crate) fn header(self) -> String {
        match self {
            Self::Tcp => {
                format!("{:<149}\n", "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode")
            }
            Self::Tcp6 => {
                "  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n".to_owned()
            }
            Self::Udp => {
                format!("{:<127}\n", "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops")
            }
            Self::Udp6 | Self::Raw6 => {
                "  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n".to_owned()
            }
            Self::Raw => {
                "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n".to_owned()
            }
            Self::Unix => {
                "Num       RefCount Protocol Flags    Type St Inode Path\n".to_owned()
            }
            Self::Netlink => {
                "sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode\n".to_owned()
            }
            Self::Packet => {
                "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n".to_owned()
            }
            Self::Dev => {
                [
                "Inter-|   Receive                                                |  Transmit\n",
                " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n",
            ].concat()
            }
            Self::Route => {
                format!("{:<127}\n", "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT")
            }
            Self::Arp => {
                "IP address       HW type     Flags       HW address            Mask     Device\n".to_owned()
            }
            Self::IfInet6 => {
                String::new()
            }
        }
    }

    /// The kernel's text without the addresses of sockets in its memory. The kernel shows them, if
    /// at all, to processes that may look into it; here the server asks for every reader.
    pub(crate) fn without_addresses(self, mut text: Vec<u8>) -> Vec<u8> {
        let column = match self {
            Self::Tcp | Self::Tcp6 | Self::Udp | Self::Udp6 | Self::Raw | Self::Raw6 => 11,
            Self::Unix | Self::Netlink | Self::Packet => 0,
            Self::Dev | Self::Route | Self::Arp | Self::IfInet6 => return text,
        };
        // The first line names the columns.
        for line in text.split_mut(|byte| *byte == b'\n').skip(1) {
            let mut words = line.split_mut(|byte| *byte == b' ').filter(|word| !word.is_empty());
            let address = words.nth(column).into_iter().flatten();
            address.filter(|digit| digit.is_ascii_hexdigit()).for_each(|digit| *digit = b'0');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_to_nobody_and_all_else_is_as_it_was() {
        let text = b"  sl  local\n   0: 0100007F:07E8 00000000:0000 0A 00000000:00000000 00:00000000 00000000 \
                     0        0 1072 1 ffff888000eeea41 100 0 0 10 0\n";
        let told = String::from_utf8(NetFile::Tcp.without_addresses(text.to_vec())).unwrap();
        let kept = String::from_utf8_lossy(text).replace("ffff888000eeea41", "0000000000000000");
        assert_eq!(told, kept);
        let text =
            b"Num Path\nffff8880d8e7007f: 00000002 00000000 00010000 0001 01 5 /run/bad cafe\n\n";
        let told = String::from_utf8(NetFile::Unix.without_addresses(text.to_vec())).unwrap();
        let kept = String::from_utf8_lossy(text).replace("ffff8880d8e7007f", "0000000000000000");
        assert_eq!(told, kept);
        assert_eq!(NetFile::Dev.without_addresses(b"a\nb c\n".to_vec()), b"a\nb c\n");
    }
}
