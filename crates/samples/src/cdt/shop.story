# The story that testdata/shop tells: half a minute of a web shop in which five things go wrong.
# `crates/samples/src/cdt/story.rs` says how this file is read.

# Methods, as the agent names them; scenes use their class and name.

void org.springframework.web.servlet.DispatcherServlet.doDispatch(jakarta.servlet.http.HttpServletRequest,jakarta.servlet.http.HttpServletResponse) (DispatcherServlet.java:1040) [BOOT-INF/lib/spring-webmvc-6.1.6.jar]
java.lang.Object org.springframework.transaction.interceptor.TransactionInterceptor.invoke(org.aopalliance.intercept.MethodInvocation) (TransactionInterceptor.java:119) [BOOT-INF/lib/spring-tx-6.1.6.jar]
java.util.List org.hibernate.query.spi.AbstractSelectionQuery.list() (AbstractSelectionQuery.java:427) [BOOT-INF/lib/hibernate-core-6.4.4.jar]
java.lang.Object org.hibernate.internal.SessionImpl.find(java.lang.Class,java.lang.Object) (SessionImpl.java:2451) [BOOT-INF/lib/hibernate-core-6.4.4.jar]
void org.hibernate.internal.SessionImpl.flush() (SessionImpl.java:1412) [BOOT-INF/lib/hibernate-core-6.4.4.jar]
java.sql.Connection com.zaxxer.hikari.HikariDataSource.getConnection() (HikariDataSource.java:99) [BOOT-INF/lib/HikariCP-5.1.0.jar]
java.sql.ResultSet org.postgresql.jdbc.PgPreparedStatement.executeQuery() (PgPreparedStatement.java:134) [BOOT-INF/lib/postgresql-42.7.3.jar]
int org.postgresql.jdbc.PgPreparedStatement.executeUpdate() (PgPreparedStatement.java:155) [BOOT-INF/lib/postgresql-42.7.3.jar]
void org.postgresql.jdbc.PgConnection.commit() (PgConnection.java:942) [BOOT-INF/lib/postgresql-42.7.3.jar]
void com.fasterxml.jackson.databind.ObjectMapper.writeValue(java.io.OutputStream,java.lang.Object) (ObjectMapper.java:3887) [BOOT-INF/lib/jackson-databind-2.17.0.jar]
void java.util.concurrent.locks.ReentrantLock.lock() (ReentrantLock.java:322) [java.base]
int java.net.Socket$SocketInputStream.read(byte[],int,int) (Socket.java:1099) [java.base]
void com.rabbitmq.client.impl.ChannelN.basicPublish(java.lang.String,java.lang.String,com.rabbitmq.client.AMQP$BasicProperties,byte[]) (ChannelN.java:702) [BOOT-INF/lib/amqp-client-5.20.0.jar]
com.acme.shop.catalog.Product com.acme.shop.catalog.ProductController.show(java.lang.String) (ProductController.java:38) [shop-web-4.2.1.jar]
com.acme.shop.catalog.Product com.acme.shop.catalog.ProductService.findBySku(java.lang.String) (ProductService.java:52) [shop-core-4.2.1.jar]
java.util.Optional com.acme.shop.catalog.ProductRepository.findBySku(java.lang.String) (ProductRepository.java:21) [shop-store-4.2.1.jar]
java.util.List com.acme.shop.catalog.ProductRepository.findAllByCategory(java.lang.String) (ProductRepository.java:29) [shop-store-4.2.1.jar]
com.acme.shop.price.Money com.acme.shop.price.PriceCalculator.priceFor(com.acme.shop.catalog.Product,com.acme.shop.customer.Customer) (PriceCalculator.java:64) [shop-core-4.2.1.jar]
com.acme.shop.price.Money com.acme.shop.price.DiscountRules.apply(com.acme.shop.price.Money,java.util.List) (DiscountRules.java:33) [shop-core-4.2.1.jar]
void com.acme.shop.price.PriceListController.export(java.lang.String,java.io.OutputStream) (PriceListController.java:47) [shop-web-4.2.1.jar]
void com.acme.shop.price.PriceListExporter.writeTo(java.io.OutputStream) (PriceListExporter.java:71) [shop-core-4.2.1.jar]
java.lang.String com.acme.shop.price.PriceListExporter.formatRows(java.util.List) (PriceListExporter.java:96) [shop-core-4.2.1.jar]
com.acme.shop.basket.Basket com.acme.shop.basket.BasketController.show(java.util.UUID) (BasketController.java:41) [shop-web-4.2.1.jar]
com.acme.shop.basket.Basket com.acme.shop.basket.BasketController.addItem(java.util.UUID,com.acme.shop.basket.NewItem) (BasketController.java:57) [shop-web-4.2.1.jar]
com.acme.shop.basket.Basket com.acme.shop.basket.BasketService.load(java.util.UUID) (BasketService.java:44) [shop-core-4.2.1.jar]
com.acme.shop.basket.Basket com.acme.shop.basket.BasketService.addItem(java.util.UUID,java.lang.String,int) (BasketService.java:68) [shop-core-4.2.1.jar]
com.acme.shop.basket.Basket com.acme.shop.basket.BasketRepository.findById(java.util.UUID) (BasketRepository.java:18) [shop-store-4.2.1.jar]
void com.acme.shop.basket.BasketRepository.save(com.acme.shop.basket.Basket) (BasketRepository.java:25) [shop-store-4.2.1.jar]
void com.acme.shop.basket.BasketCleanupJob.run() (BasketCleanupJob.java:34) [shop-jobs-4.2.1.jar]
int com.acme.shop.basket.BasketRepository.deleteExpired(java.time.Instant) (BasketRepository.java:33) [shop-store-4.2.1.jar]
java.util.List com.acme.shop.order.OrderController.history(long) (OrderController.java:52) [shop-web-4.2.1.jar]
com.acme.shop.order.OrderView com.acme.shop.order.OrderController.show(long) (OrderController.java:40) [shop-web-4.2.1.jar]
java.util.List com.acme.shop.order.OrderService.findHistory(long) (OrderService.java:81) [shop-core-4.2.1.jar]
com.acme.shop.order.OrderView com.acme.shop.order.OrderMapper.toView(com.acme.shop.order.Order) (OrderMapper.java:27) [shop-core-4.2.1.jar]
java.util.List com.acme.shop.order.OrderRepository.findByCustomer(long) (OrderRepository.java:24) [shop-store-4.2.1.jar]
com.acme.shop.order.Order com.acme.shop.order.OrderRepository.findById(long) (OrderRepository.java:19) [shop-store-4.2.1.jar]
void com.acme.shop.order.OrderRepository.save(com.acme.shop.order.Order) (OrderRepository.java:36) [shop-store-4.2.1.jar]
java.util.List com.acme.shop.order.OrderItemRepository.findByOrder(long) (OrderItemRepository.java:17) [shop-store-4.2.1.jar]
void com.acme.shop.order.OrderEventListener.onOrderPlaced(com.acme.shop.order.OrderPlaced) (OrderEventListener.java:29) [shop-core-4.2.1.jar]
com.acme.shop.order.OrderView com.acme.shop.checkout.CheckoutController.placeOrder(java.util.UUID) (CheckoutController.java:49) [shop-web-4.2.1.jar]
com.acme.shop.order.Order com.acme.shop.checkout.CheckoutService.placeOrder(com.acme.shop.basket.Basket) (CheckoutService.java:73) [shop-core-4.2.1.jar]
void com.acme.shop.stock.StockLedger.reserve(java.lang.String,int) (StockLedger.java:58) [shop-core-4.2.1.jar]
int com.acme.shop.stock.WarehouseClient.confirm(java.lang.String,int) (WarehouseClient.java:42) [shop-core-4.2.1.jar]
void com.acme.shop.stock.StockRepository.decrement(java.lang.String,int) (StockRepository.java:31) [shop-store-4.2.1.jar]
void com.acme.shop.payment.PaymentController.pay(long,com.acme.shop.payment.Card) (PaymentController.java:44) [shop-web-4.2.1.jar]
void com.acme.shop.payment.PaymentService.capture(long,com.acme.shop.price.Money) (PaymentService.java:66) [shop-core-4.2.1.jar]
com.acme.shop.payment.Receipt com.acme.shop.payment.PaymentGateway.capture(com.acme.shop.payment.Capture) (PaymentGateway.java:83) [shop-core-4.2.1.jar]
java.util.List com.acme.shop.search.SearchController.search(java.lang.String,int) (SearchController.java:36) [shop-web-4.2.1.jar]
java.util.List com.acme.shop.search.SearchService.findProducts(java.lang.String,int) (SearchService.java:48) [shop-core-4.2.1.jar]
java.util.List com.acme.shop.search.ProductSearchRepository.findByTitleContaining(java.lang.String,int) (ProductSearchRepository.java:22) [shop-store-4.2.1.jar]
com.acme.shop.customer.Session com.acme.shop.customer.LoginController.login(com.acme.shop.customer.Credentials) (LoginController.java:33) [shop-web-4.2.1.jar]
com.acme.shop.customer.Customer com.acme.shop.customer.CustomerService.authenticate(java.lang.String,char[]) (CustomerService.java:57) [shop-core-4.2.1.jar]
boolean com.acme.shop.customer.PasswordHasher.matches(char[],java.lang.String) (PasswordHasher.java:41) [shop-core-4.2.1.jar]
com.acme.shop.customer.Customer com.acme.shop.customer.CustomerRepository.findByEmail(java.lang.String) (CustomerRepository.java:20) [shop-store-4.2.1.jar]
void com.acme.shop.ShopApplication.warmUp() (ShopApplication.java:61) [shop-web-4.2.1.jar]

# Scenes. Indented lines are called by the line above; numbers are milliseconds of own time.

scene product GET /api/products/SKU-{n}
  DispatcherServlet.doDispatch 1..2
    ProductController.show 0..1
      ProductService.findBySku 0..2
        ProductRepository.findBySku 0..1
          SessionImpl.find 0..1
            PgPreparedStatement.executeQuery 1..5
              sql select p.id, p.sku, p.title, p.price_cents from product p where p.sku = ?
        PriceCalculator.priceFor 1..3
          DiscountRules.apply 1..4
    ObjectMapper.writeValue 1..3

scene basket GET /api/baskets/{n}
  DispatcherServlet.doDispatch 1..2
    BasketController.show 0..1
      BasketService.load 1..2
        BasketRepository.findById 0..1
          SessionImpl.find 0..1
            PgPreparedStatement.executeQuery 2..6
              sql select b.id, b.customer_id, b.changed_at from basket b where b.id = ?
        PriceCalculator.priceFor x3 1..3
          DiscountRules.apply 1..3
    ObjectMapper.writeValue 1..3

scene add POST /api/baskets/{n}/items
  DispatcherServlet.doDispatch 1..2
    TransactionInterceptor.invoke 0..1
      BasketController.addItem 1..2
        BasketService.addItem 1..3
          BasketRepository.findById 0..1
            PgPreparedStatement.executeQuery 2..6
              sql select b.id, b.customer_id, b.changed_at from basket b where b.id = ?
          ProductRepository.findBySku 0..1
            PgPreparedStatement.executeQuery 1..5
              sql select p.id, p.sku, p.title, p.price_cents from product p where p.sku = ?
          PriceCalculator.priceFor 1..3
            DiscountRules.apply 1..4
          BasketRepository.save 1..2
            SessionImpl.flush 1..2
              PgPreparedStatement.executeUpdate 2..7
                sql insert into basket_item (basket_id, product_id, quantity, price_cents) values (?, ?, ?, ?)
      PgConnection.commit 2..6
    ObjectMapper.writeValue 1..2

scene login POST /api/login
  DispatcherServlet.doDispatch 1..2
    LoginController.login 1..2
      CustomerService.authenticate 1..3
        CustomerRepository.findByEmail 0..1
          PgPreparedStatement.executeQuery 2..5
            sql select c.id, c.email, c.password_hash from customer c where c.email = ?
        PasswordHasher.matches 52..68

scene order GET /api/orders/{n}
  DispatcherServlet.doDispatch 1..2
    OrderController.show 1..2
      OrderRepository.findById 0..1
        SessionImpl.find 0..1
          PgPreparedStatement.executeQuery 2..6
            sql select o.id, o.customer_id, o.placed_at, o.state from orders o where o.id = ?
      OrderItemRepository.findByOrder 0..1
        AbstractSelectionQuery.list 0..1
          PgPreparedStatement.executeQuery 4..9
            sql select i.id, i.product_id, i.quantity, i.price_cents from order_item i where i.order_id = ?
      OrderMapper.toView 1..2
    ObjectMapper.writeValue 1..3

# One statement for the orders, and one more for each of them.
scene history GET /api/customers/{n}/orders
  DispatcherServlet.doDispatch 1..2
    OrderController.history 1..2
      OrderService.findHistory 3..6
        OrderRepository.findByCustomer 1..1
          AbstractSelectionQuery.list 1..2
            PgPreparedStatement.executeQuery 11..16
              sql select o.id, o.customer_id, o.placed_at, o.state from orders o where o.customer_id = ? order by o.placed_at desc
              binds BIGINT: customer_id: {n}
        OrderMapper.toView x{orders} 0..1
          OrderItemRepository.findByOrder 0..1
            AbstractSelectionQuery.list 0..1
              PgPreparedStatement.executeQuery 5..9
                sql select i.id, i.product_id, i.quantity, i.price_cents from order_item i where i.order_id = ?
    ObjectMapper.writeValue 6..9

# The ledger's lock is held while the warehouse is asked, so those who come meanwhile wait in line.
scene checkout POST /api/baskets/{n}/checkout
  DispatcherServlet.doDispatch 1..2
    TransactionInterceptor.invoke 0..1
      CheckoutController.placeOrder 1..2
        BasketService.load 1..2
          BasketRepository.findById 0..1
            PgPreparedStatement.executeQuery 2..4
              sql select b.id, b.customer_id, b.changed_at from basket b where b.id = ?
        CheckoutService.placeOrder 2..3
          StockLedger.reserve 1..1
            ReentrantLock.lock {wait}
            WarehouseClient.confirm 2..3
              SocketInputStream.read 284..296
            StockRepository.decrement 1..1
              PgPreparedStatement.executeUpdate 4..6
                sql update stock set available = available - ? where sku = ? and available >= ?
          OrderRepository.save 1..2
            SessionImpl.flush 1..2
              PgPreparedStatement.executeUpdate 4..6
                sql insert into orders (id, customer_id, placed_at, state) values (?, ?, ?, ?)
          ChannelN.basicPublish 2..4
      PgConnection.commit 4..7
    ObjectMapper.writeValue 1..2

# A full collection stops everything while this call builds its text.
scene export GET /api/price-lists/{n}.csv
  DispatcherServlet.doDispatch 1..2
    PriceListController.export 1..2
      PriceListExporter.writeTo 6..9
        ProductRepository.findAllByCategory 1..2
          AbstractSelectionQuery.list 9..12
            PgPreparedStatement.executeQuery 41..48
              sql select p.id, p.sku, p.title, p.price_cents from product p join category c on c.id = p.category_id where c.path like ?
        PriceCalculator.priceFor x12 1..2
        PriceListExporter.formatRows 880..880

scene payment POST /api/orders/{n}/payment
  DispatcherServlet.doDispatch 1..2
    TransactionInterceptor.invoke 0..1
      PaymentController.pay 1..2
        PaymentService.capture 1..2
          OrderRepository.findById 0..1
            PgPreparedStatement.executeQuery 2..5
              sql select o.id, o.customer_id, o.placed_at, o.state from orders o where o.id = ?
          PaymentGateway.capture 1..2
            SocketInputStream.read 118..163
      PgConnection.commit 3..5

# The gateway does not answer, and the call fails with the exception of the socket as its cause.
scene timeout POST /api/orders/{n}/payment
  DispatcherServlet.doDispatch 1..2
    TransactionInterceptor.invoke 0..1
      PaymentController.pay 1..2
        PaymentService.capture 1..2
          OrderRepository.findById 0..1
            PgPreparedStatement.executeQuery 2..5
              sql select o.id, o.customer_id, o.placed_at, o.state from orders o where o.id = ?
          PaymentGateway.capture 1..2
            SocketInputStream.read 2000..2000
  throw com.acme.shop.payment.PaymentFailedException: order {n}: the gateway did not answer within 2000 ms
    at com.acme.shop.payment.PaymentGateway.capture(PaymentGateway.java:97)
    at com.acme.shop.payment.PaymentService.capture(PaymentService.java:71)
    at com.acme.shop.payment.PaymentController.pay(PaymentController.java:48)
    at org.springframework.web.servlet.DispatcherServlet.doDispatch(DispatcherServlet.java:1089)
  Caused by: java.net.SocketTimeoutException: Read timed out
    at java.net.Socket$SocketInputStream.read(Socket.java:1099)
    at com.acme.shop.payment.PaymentGateway.capture(PaymentGateway.java:91)
    ... 2 more

# No index serves a pattern that begins with a wildcard.
scene search GET /api/search?q={q}
  DispatcherServlet.doDispatch 1..2
    SearchController.search 1..2
      SearchService.findProducts 2..4
        ProductSearchRepository.findByTitleContaining 1..2
          AbstractSelectionQuery.list 2..4
            PgPreparedStatement.executeQuery {wait}
              sql select p.id, p.sku, p.title, ts.rank from product p left join title_search ts on ts.product_id = p.id where lower(p.title) like ? order by ts.rank desc limit 40
              binds TEXT: title: %{q}%
        PriceCalculator.priceFor x8 0..2
    ObjectMapper.writeValue 2..4

scene cleanup
  BasketCleanupJob.run 1..2
    BasketRepository.deleteExpired 0..1
      PgPreparedStatement.executeUpdate 14..22
        sql delete from basket where changed_at < ? and order_id is null

scene placed
  OrderEventListener.onOrderPlaced 2..4
    OrderRepository.findById 0..1
      PgPreparedStatement.executeQuery 2..5
        sql select o.id, o.customer_id, o.placed_at, o.state from orders o where o.id = ?
    OrderItemRepository.findByOrder 0..1
      PgPreparedStatement.executeQuery 3..7
        sql select i.id, i.product_id, i.quantity, i.price_cents from order_item i where i.order_id = ?

scene warmup
  ShopApplication.warmUp 110..130
    HikariDataSource.getConnection 31..38
    ProductRepository.findAllByCategory 1..2
      PgPreparedStatement.executeQuery 38..44
        sql select p.id, p.sku, p.title, p.price_cents from product p join category c on c.id = p.category_id where c.path like ?

# What happens, in milliseconds since the start.

at 420 main warmup
traffic 1600..31000 every 900 product basket add product login order product payment
at 5000 scheduling-1 cleanup
at 20000 scheduling-1 cleanup
at 6400 http-nio-8080-exec-4 history n=4711 orders=96
at 14850 http-nio-8080-exec-9 history n=2086 orders=41
at 9100 http-nio-8080-exec-2 checkout n=88213 wait=0
at 9130 http-nio-8080-exec-5 checkout n=88220 wait=282
at 9145 http-nio-8080-exec-7 checkout n=88198 wait=573
at 9190 http-nio-8080-exec-8 checkout n=88225 wait=834
at 9260 http-nio-8080-exec-10 checkout n=88231 wait=1071
at 9300 http-nio-8080-exec-12 checkout n=88207 wait=1338
at 9520 rabbit-consumer-1 placed
at 9830 rabbit-consumer-2 placed
at 10130 rabbit-consumer-1 placed
at 10420 rabbit-consumer-3 placed
at 10730 rabbit-consumer-1 placed
at 11030 rabbit-consumer-2 placed
at 12200 http-nio-8080-exec-3 search q=lamp wait=1840
at 16300 http-nio-8080-exec-6 search q=oak+table wait=36
at 18200 http-nio-8080-exec-11 export n=garden
at 22600 http-nio-8080-exec-1 timeout n=88198
at 31800 http-nio-8080-exec-3 checkout n=88240 wait=0 running

pauses 700..31000 every 2400 4..17
pause 19060 640
