"""The configuration of nginx before the text server: TLS for both protocols, and bounds for callers from outside."""

from serving.deploy import container

FILE, PORT = "nginx.conf", 8443
IMAGE = "nginx:1.28"
TLS = "/etc/nginx/tls"  # tls.crt and tls.key
BODY = 8  # MiB, of a request: `--max-bytes` of the server, which is not changed here


def service(config, profile):
    """The service of Compose, beside the text server: it shares its network, so that the server knows whom to believe.

    Args:
        config: where the folder of the deployment is mounted.
        profile: with which it is started.
    """
    return {
        "image": IMAGE,
        "profiles": [profile],
        "command": ["nginx", "-c", f"{config}/{FILE}", "-g", "daemon off;"],
        "network_mode": "service:seqzoo",
        "volumes": [
            {"type": "bind", "source": ".", "target": config, "read_only": True},
            {"type": "bind", "source": "./tls", "target": TLS, "read_only": True},
        ],
        "restart": "unless-stopped",
        "security_opt": ["no-new-privileges:true"],
    }


def nginx(tls=TLS, port=PORT, http=f"127.0.0.1:{container.HTTP}", grpc=f"127.0.0.1:{container.GRPC}"):
    """The text of `nginx.conf`.

    Args:
        tls: the folder with the certificate, `tls.crt`, and its key, `tls.key`.
        port: where it listens.
        http, grpc: where the server listens.
    """
    return f"""worker_processes auto;
pid /tmp/nginx.pid;

events {{
    worker_connections 4096;
}}

http {{
    access_log off;
    server_tokens off;
    client_body_temp_path /tmp/nginx-body;
    proxy_temp_path /tmp/nginx-proxy;
    fastcgi_temp_path /tmp/nginx-fastcgi;
    uwsgi_temp_path /tmp/nginx-uwsgi;
    scgi_temp_path /tmp/nginx-scgi;

    limit_conn_zone $binary_remote_addr zone=connections:10m;
    limit_conn_status 503;

    client_max_body_size {BODY}m;
    client_header_timeout 15s;
    client_body_timeout 15s;
    send_timeout 60s;
    keepalive_timeout 60s;
    large_client_header_buffers 4 16k;

    upstream text_server {{
        server {http};
        keepalive 32;
    }}

    upstream text_server_grpc {{
        server {grpc};
        keepalive 32;
    }}

    server {{
        listen {port} ssl http2;
        ssl_certificate {tls}/tls.crt;
        ssl_certificate_key {tls}/tls.key;
        ssl_protocols TLSv1.2 TLSv1.3;
        limit_conn connections 100;

        location / {{
            proxy_pass http://text_server;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_read_timeout 75s;
            proxy_next_upstream off;
        }}

        location ~ ^/(inference\\.GRPCInferenceService|grpc\\.health\\.v1\\.Health)/ {{
            grpc_pass grpc://text_server_grpc;
            grpc_set_header X-Forwarded-For $remote_addr;
            grpc_read_timeout 75s;
            grpc_next_upstream off;
        }}

        location = /metrics {{
            return 404;  # ask the server itself
        }}
    }}
}}
"""
